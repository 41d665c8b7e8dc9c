"""Slices that are asked for again whenever they die, though no job waits for them."""
