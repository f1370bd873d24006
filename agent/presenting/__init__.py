"""Telling a visitor about the site while working on it (KS 4.5, 6.3)."""
