"""Example knowledge bases, and the sites they describe."""
