"""Alignment of traces: step equivalence, loop detection and sequence alignment."""
