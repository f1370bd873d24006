"""The agent's MCP server: run tasks, query their status, cancel them.

It uses the tool framework of `mcp_server` and the agent. Each run is an asyncio task with its own browser context.
"""
