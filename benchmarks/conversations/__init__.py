"""What whole conversations of a model cost: the same jobs with Playwright's MCP server and with Periplus.

python -m benchmarks.conversations measure      (or `make conversations`; goes on where it was interrupted)
"""
