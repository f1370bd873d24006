"""The desk: answers questions about the knowledge base, to any MCP client.

Pure query functions (`identify`, `paths`, `recover`, `describe`, `search`, `strategies`) over a
compiled view of one website (`compiled`), and a thin layer of MCP tools over them (`tools/`,
`server`). Nothing here drives a browser or writes to a store.
"""
