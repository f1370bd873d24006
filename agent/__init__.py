"""The guide: browser, locating, acting, running, presenting.

Knowledge comes only through an MCP session; working state goes through small ports that `periplus` injects.
"""
