"""Finds and starts Chromium, and reads the storage state of a browser context."""
