"""Runs: the ports of run stores, with leases and lessons."""
