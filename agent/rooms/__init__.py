"""Presents in a LiveKit room: voice and page picture as tracks, captions and events as text.

All modules except `room_topics` need the extra `livekit`; only this package and `periplus.rooms` import them.
`agent.presentation` decides what is presented and how visitors' words are understood.
"""
