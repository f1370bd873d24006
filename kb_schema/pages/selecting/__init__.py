"""Stable selectors for any element of a stored page: what a person would write who knows what lasts."""
