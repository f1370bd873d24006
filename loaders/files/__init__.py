"""A knowledge base as a folder of files: reading, writing, changing in place."""
