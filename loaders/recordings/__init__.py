"""Imports recordings of other tools as traces (`kb_schema.execution_traces`).

One module per format, each entered in `formats`; nothing here opens a browser or writes a file.
"""
