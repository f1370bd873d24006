"""Proposed changes: the port, decisions, and changes of stored knowledge."""
