"""Where each coding agent reads its MCP servers, skills and agent definitions, and in which format.

Adding a client is one entry of `LAYOUTS`. Sources: the clients' own documentation, named in docs/coding-agents.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath


class CodingAgent(StrEnum):
    """The clients that files can be written for."""

    CLAUDE = "claude"
    COPILOT = "copilot"
    CURSOR = "cursor"
    CODEX = "codex"
    GEMINI = "gemini"


@dataclass(frozen=True, slots=True)
class ClientLayout:
    """The places of one client, relative to the project's folder, with `/`."""

    title: str
    config: str
    """The file with the MCP servers: `.json` or `.toml`."""
    servers_key: str
    """The object of that file that holds the servers."""
    skill: str
    """The skill file."""
    agents: str
    """An agent's file; `{name}` is its name. `.toml` is Codex's format, all others are Markdown."""
    transport_named: bool = False
    """Whether a server's entry names its transport."""
    kind_named: bool = False
    """Whether an agent definition says that it is a local one."""
    next: str = ""
    """What the user does in the client afterwards."""

    @property
    def is_toml(self) -> bool:
        """Whether the servers are in a TOML file."""
        return PurePosixPath(self.config).suffix == ".toml"


LAYOUTS: dict[CodingAgent, ClientLayout] = {
    CodingAgent.CLAUDE: ClientLayout(
        "Claude Code",
        ".mcp.json",
        "mcpServers",
        ".claude/skills/periplus/SKILL.md",
        ".claude/agents/{name}.md",
        next="start `claude` in this folder and approve the servers",
    ),
    CodingAgent.COPILOT: ClientLayout(
        "GitHub Copilot in VS Code",
        ".vscode/mcp.json",
        "servers",
        ".github/skills/periplus/SKILL.md",
        ".github/agents/{name}.agent.md",
        transport_named=True,
        next="open this folder in VS Code and start the servers from .vscode/mcp.json",
    ),
    CodingAgent.CURSOR: ClientLayout(
        "Cursor",
        ".cursor/mcp.json",
        "mcpServers",
        ".cursor/skills/periplus/SKILL.md",
        ".cursor/agents/{name}.md",
        next="open this folder in Cursor and enable the servers in its settings",
    ),
    CodingAgent.CODEX: ClientLayout(
        "Codex",
        ".codex/config.toml",
        "mcp_servers",
        ".agents/skills/periplus/SKILL.md",
        ".codex/agents/{name}.toml",
        next="start `codex` in this folder and trust the project; it ignores .codex/ otherwise",
    ),
    CodingAgent.GEMINI: ClientLayout(
        "Gemini CLI",
        ".gemini/settings.json",
        "mcpServers",
        ".gemini/skills/periplus/SKILL.md",
        ".gemini/agents/{name}.md",
        kind_named=True,
        next="start `gemini` in this folder; `/mcp` lists the servers",
    ),
}
