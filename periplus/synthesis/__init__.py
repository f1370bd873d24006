"""Implements `periplus synthesize`: reads traces, and validates and publishes the synthesized workflow."""
