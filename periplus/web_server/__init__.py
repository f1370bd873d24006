"""The web server of `periplus serve`: one ASGI app with REST at /api, MCP at /mcp and the console at /."""
