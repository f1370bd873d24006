"""Films a presentation as clips, one per segment, and reuses clips of unchanged segments."""
