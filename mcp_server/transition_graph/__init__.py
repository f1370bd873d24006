"""The transitions of a website as a weighted graph, and what conditions on facts allow."""
