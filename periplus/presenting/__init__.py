"""Putting on shows: what they share (`venue`), and one of them with everything it needs (`show`)."""
