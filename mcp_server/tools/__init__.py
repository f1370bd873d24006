"""The MCP tools, grouped by topic. `tool_registry` lists them all."""
