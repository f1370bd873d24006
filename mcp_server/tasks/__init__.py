"""Tasks: what comes next in one, and which tasks belong to a screen."""
