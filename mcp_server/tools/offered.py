"""Every tool there is. Adding one: a function, its entry in its module's `TOOLS`."""

from mcp_server.tools import failing, learning, sites, ways, where, work

WEBSITE_TOOLS = (*where.TOOLS, *ways.TOOLS, *work.TOOLS, *sites.TOOLS)
"""Every tool over one website, in the order clients see them."""

DESKED_TOOLS = (*failing.TOOLS, *learning.TOOLS)
"""Every tool that needs the whole desk, those that change something last."""
