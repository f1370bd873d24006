"""Input and output values of a run: sources, declared types, secrets (KS 2.5, 9.2, 9.12)."""
