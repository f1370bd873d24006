"""Demos in LiveKit rooms: the worker that is dispatched to them, and the tickets visitors enter with.

`settings` and `tickets` need no extra; the rest needs `livekit`.
"""
