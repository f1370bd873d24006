"""Extraction of patterns from aligned traces: positions, parameters, rows, loops and branch conditions."""
