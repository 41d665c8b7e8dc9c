"""Driving one job: get its slice, prepare it, run the work, recover, and give everything back."""
