"""Stored pages: snapshots that answer the same probes as the live page, without a browser."""
