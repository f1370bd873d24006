"""The knowledge server: answers questions about the knowledge base for any MCP client.

Pure query functions (identification, paths, tasks, descriptions, search, failures) work on the compiled view of
one website (`knowledge`). A thin layer of MCP tools wraps them (`tools`, `server`). Nothing here drives a browser or
writes to a store.
"""
