"""The console: the web pages of `periplus serve`.

Each page module has a router; `page_registry` collects them. `console_framework` has what they share: templates,
roles, forms and errors. The pages show data of the knowledge server (`mcp_server`) and of the stores.
"""
