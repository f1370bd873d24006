"""The probe, a pytest plugin that runs inside a suite's own process. It imports nothing of Periplus."""
