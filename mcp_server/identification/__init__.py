"""Identification: which screen a page is, with the evidence."""
