"""Checkpoints and journal of a run, from which it is resumed."""
