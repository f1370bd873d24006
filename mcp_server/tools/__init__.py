"""The tools, grouped by the question they answer. Adding one: a function and its entry in `TOOLS`."""

from mcp_server.tools import sites, ways, where, work

WEBSITE_TOOLS = (*where.TOOLS, *ways.TOOLS, *work.TOOLS, *sites.TOOLS)
"""Every tool over one website, in the order clients see them."""
