"""Spadeworks, the documents' example product: AI voice agents for call centres."""
