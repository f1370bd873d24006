"""Presenting in a LiveKit room: the voice and the page's picture as tracks, captions and events as text.

All modules but `topics` need the extra `livekit`; nothing outside of this package and `periplus.rooms` imports
them. What is told, and what a visitor's words mean, is decided in `agent.presenting`.
"""
