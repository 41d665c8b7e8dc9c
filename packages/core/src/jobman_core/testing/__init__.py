"""Fakes, and a contract suite for each interface, for plugin authors too."""
