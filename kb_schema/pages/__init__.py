"""Stored pages: snapshots that answer the same questions as the live page, without a browser."""
