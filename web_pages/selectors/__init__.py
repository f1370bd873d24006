"""Generates stable selectors for any element of a stored page, as an experienced person would write them."""
