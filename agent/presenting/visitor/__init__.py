"""Looking after the visitor: what was said, what is meant, the answer, where the story goes next."""
