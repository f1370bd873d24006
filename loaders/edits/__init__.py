"""Edits of a whole knowledge base by a person: rename, merge and split, with all references."""
