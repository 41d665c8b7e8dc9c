"""Jobman v3: what its folders hold, and how that becomes this home's."""
