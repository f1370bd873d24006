"""Paths between screens and recovery paths: graphs, searches, explanations."""
