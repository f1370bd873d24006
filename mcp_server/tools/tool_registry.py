"""The list of all tools. To add one, write the function and add it to its module's `TOOLS`."""

from mcp_server.tools import (
    change_tools,
    failure_tools,
    identification_tools,
    path_tools,
    task_tools,
    website_tools,
)

WEBSITE_TOOLS = (*identification_tools.TOOLS, *path_tools.TOOLS, *task_tools.TOOLS, *website_tools.TOOLS)
"""Every tool over one website, in the order clients see them."""

SERVER_TOOLS = (*failure_tools.TOOLS, *change_tools.TOOLS)
"""Every tool that needs the whole server; those that change something come last."""
