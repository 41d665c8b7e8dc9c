"""Measurements of what jobman promises: ``python -m benchmarks`` from the root of the checkout."""
