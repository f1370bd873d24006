"""Explores a website in a real browser and writes down what it saw: the folder of `kb_schema.mapping`."""
