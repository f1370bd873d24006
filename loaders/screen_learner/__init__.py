"""Learns screens from pages: grouping, signatures, names."""
