"""The agent: browser control, element location, task execution, recording, synthesis and presentation.

Knowledge comes only through an MCP session. What the agent stores of its own work goes through the small
ports of `agent.ports`, which `periplus` implements.
"""
