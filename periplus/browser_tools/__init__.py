"""MCP tools that work in a browser: look, go_to, act, read, tabs (docs/browser-tools.md)."""
