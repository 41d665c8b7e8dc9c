"""The command line of jobman."""
