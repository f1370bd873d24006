"""Preparation of traces: collection, evaluation, normalisation, target conversion."""
