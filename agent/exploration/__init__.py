"""Explores a website in a real browser and records it in the folder format of `kb_schema.explorations`."""
