"""Presents a website to a visitor: plays a presentation flow on the live page (KS 4.5, 6.3)."""
