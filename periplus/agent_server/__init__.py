"""The agent's own MCP server: have work done, see how it goes, stop it (DESIGN 5, 11).

It stands on the top floor because it needs both sides: the tools' machinery of `mcp_server` and the
agent that does the work. Each run is one task of asyncio with a browser context of its own.
"""
