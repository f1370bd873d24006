"""Observation of pages: controls, structure digest and page identity."""
