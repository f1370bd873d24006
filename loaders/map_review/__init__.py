"""The review of a map by a person: what is doubtful, and the decisions."""
