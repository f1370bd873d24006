"""From the ActionGraph to documents of the knowledge base: workflows and tasks."""
