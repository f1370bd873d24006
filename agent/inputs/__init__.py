"""Where the values of a run come from: sources, types, secrets (KS 2.5, 9.2, 9.12)."""
