"""Prompts and instructions: how to work with the knowledge server."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = (
    "A knowledge base of web applications. list_websites first. Give identify_current_screen the page "
    "(url with html, or with text) to learn where you are, get_available_actions what can be done there, "
    "find_path how to get elsewhere, list_tasks and get_next_step how whole tasks are done, explain_failure why "
    "something failed. Lost: "
    "identify_current_screen with last_known_screen_id gives the ways out, best first. Levels of detail: "
    "summary to choose by, working to carry out, full every authored field."
)


def add_prompts(server: MCPServer) -> None:
    """The prompts of the server."""

    @server.prompt(title="Carry out a goal on a website")
    def find_your_way(website_id: str, goal: str) -> str:
        """How to reach a goal with the knowledge base and a browser."""
        return (
            f"Reach this goal on website {website_id}: {goal}\n"
            "1. search_knowledge for a task that does it; get_task_definition tells its inputs and steps. "
            "Ask for inputs you do not have.\n"
            "2. Look at the page in the browser and call identify_current_screen.\n"
            "3. find_path to the task's first screen and carry out its transitions, using the selectors "
            "of get_screen.\n"
            "4. Carry out the steps, checking postconditions; after each change of page identify again.\n"
            "5. If no screen matches, carry out the first recovery option and identify again. Never "
            "repeat a step that may already have happened without looking."
        )

    @server.prompt(title="Present a website")
    def present(website_id: str, flow_id: str) -> str:
        """How to give a demo from a presentation flow."""
        return (
            f"Present website {website_id} along get_presentation_flow {flow_id!r}. Tell its segments in "
            "order; where one names a task, carry the task out while speaking its narration; where one "
            "names a screen, find_path there and explain it. Answer questions, then go on."
        )
