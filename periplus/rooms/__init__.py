"""Demos in LiveKit rooms: the worker that is dispatched to rooms, and the tickets for visitors.

`room_settings` and `room_tickets` need no extra; the other modules need the extra `livekit`.
"""
