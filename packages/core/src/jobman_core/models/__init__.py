"""Frozen facts: jobs, tasks, attempts, slices, outcomes, events, and what they add up to."""
