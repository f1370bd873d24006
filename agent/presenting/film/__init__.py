"""A show as a film of clips, one a segment: those that would come out the same are not filmed again."""
