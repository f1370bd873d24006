"""Runs of `periplus run` and of the agent's MCP server: requests, execution, reports and undo."""
