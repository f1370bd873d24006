"""Descriptions of screens, tasks and demos at three levels of detail, and their text."""
