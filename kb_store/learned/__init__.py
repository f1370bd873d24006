"""Learned numbers: the port, its mathematics, change cursors and origins."""
