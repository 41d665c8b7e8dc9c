"""Text to models: job files, tasks files and settings, with all their faults at once."""
