"""Loops of a task: collections, iterators, and the work on one item."""
