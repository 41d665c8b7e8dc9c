"""What ``/jobman`` does: the table of its words, and a small file for each group of them."""
