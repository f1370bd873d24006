"""The one executor: runs tasks of the knowledge base on a page (DESIGN 6)."""
