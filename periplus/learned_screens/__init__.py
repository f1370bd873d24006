"""Implements `periplus learn`: learns screens from manually sorted pages or from sessions."""
