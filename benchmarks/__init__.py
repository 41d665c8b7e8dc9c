"""Measurements: run them from the root of the checkout, as modules."""
