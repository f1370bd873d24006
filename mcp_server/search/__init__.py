"""Full-text search over the words of one website's knowledge."""
