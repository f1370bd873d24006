"""The difference of two knowledge bases, as data, in words, and as Markdown."""
