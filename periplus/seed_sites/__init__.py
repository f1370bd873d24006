"""Seeds: example knowledge with a matching site, started as a process."""
