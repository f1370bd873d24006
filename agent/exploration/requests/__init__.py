"""Checks every request, redirect and WebSocket of the browser during an exploration."""
