"""Recordings that people already have, from other tools, as traces (`kb_schema.traces`).

One module per format, each entered in `formats`; nothing here opens a browser or writes a file.
"""
