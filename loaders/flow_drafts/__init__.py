"""Drafts of presentation flows, from what a knowledge base says of a website."""
