"""Rehearsals: passes through a flow, what is observed in them, and risks."""
