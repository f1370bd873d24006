"""Text of single parts of the knowledge base: conditions, calls, selectors, and documents at three levels of detail."""
