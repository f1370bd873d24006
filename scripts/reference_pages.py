"""The pages of the documentation site that are generated: a MkDocs hook, run by `make docs`.

Nothing is written into `docs/`. `reference_pages()` returns the reference pages by path; `on_files` adds them, README,
CONTRIBUTING and CHANGELOG to the site; `on_page_markdown` corrects links that point out of `docs/`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import posixpath
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from fastapi import FastAPI
from rich.text import Text

from kb_schema.json_schemas import all_schemas
from mcp_server.tool_reference import list_tools, render_reference
from periplus.agent_server.agent_tool_reference import list_agent_tools
from periplus.cli import COMMANDS
from periplus.service import audit_routes, run_routes
from periplus.service.visits import visit_routes

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages at the top of the repository, and where the site has them."""
SETTINGS = (
    "periplus.settings:PeriplusSettings",
    "periplus.resilience_settings:ResilienceSettings",
    "periplus.knowledge_server:PathSearchSettings",
    "periplus.vault_setup:SecretSettings",
    "periplus.privacy.retention:RetentionSettings",
    "periplus.mcp_settings:McpSettings",
    "periplus.service.service_settings:ServeSettings",
    "periplus.service.single_sign_on:OidcSettings",
    "periplus.service.visits.visit_settings:VisitSettings",
    "periplus.rooms.room_settings:RoomSettings",
)
MOST_TYPES = 5
"""Alternatives of one field that are listed."""
_SOURCE = re.compile(r"\s*\((?:KS|MA|PACTS|WR|OL)\b[^)]*\)")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def reference_pages() -> dict[str, str]:
    """Every generated reference page: its path in the site and its Markdown."""
    return {
        "reference/cli.md": "\n".join(_cli()),
        "reference/settings.md": "\n".join(_settings()),
        "reference/mcp-tools.md": _mcp_tools(),
        "reference/rest.md": "\n".join(_rest()),
        "reference/documents.md": "\n".join(_documents()),
    }


def _without_markup(text: str) -> str:
    """A help text without the markup of the terminal."""
    return Text.from_markup(text).plain


def _cell(text: object) -> str:
    """Text for a cell of a table, without references to source documents."""
    return " ".join(_SOURCE.sub("", str(text)).split()).replace("|", "\\|").replace("<", "&lt;")


# -- commands ---------------------------------------------------------------------------------------


def _cli() -> Iterator[str]:
    yield "# Commands\n\nGenerated from the command line itself; `periplus COMMAND --help` prints the same.\n"
    for name, lazy in COMMANDS.items():
        command = typer.main.get_command(importlib.import_module(lazy.module).app)
        yield from _command(f"periplus {name}", command, lazy.help)


def _command(name: str, command: Any, summary: str = "") -> Iterator[str]:
    yield f"## `{name}`\n"
    described = _without_markup(inspect.cleandoc(command.help or summary))
    first, _, rest = described.partition("\n\n")
    yield f"{_cell(first)}\n"
    if rest:
        yield f"```text\n{rest}\n```\n"
    rows = [_parameter(each) for each in command.params if not getattr(each, "hidden", False)]
    if rows:
        yield "| | |\n|---|---|"
        yield from rows
        yield ""
    for sub, inner in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {sub}", inner)


def _parameter(parameter: Any) -> str:
    names = ", ".join(f"`{each}`" for each in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
    text = _without_markup(str(getattr(parameter, "help", "") or ""))
    if parameter.default not in (None, False, (), "") and not callable(parameter.default):
        default = str(parameter.default)
        if "UNSET" not in default.upper():
            text += f" Default: {default}."
    return f"| {names} | {_cell(text)} |"


# -- settings ---------------------------------------------------------------------------------------


def _settings() -> Iterator[str]:
    yield "# Settings\n\nGenerated. Every setting is an environment variable.\n"
    for address in SETTINGS:
        module, _, name = address.partition(":")
        kind: type[BaseSettings] = getattr(importlib.import_module(module), name)
        prefix = str(kind.model_config.get("env_prefix", ""))
        described = _attribute_docstrings(kind)
        yield f"## {_title(name)}\n"
        yield "| variable | default | |\n|---|---|---|"
        for field, info in kind.model_fields.items():
            default = "" if info.is_required() or info.default is None else f"`{_cell(info.default)}`"
            text = info.description or described.get(field, "")
            yield f"| `{prefix}{field.upper()}` | {default} | {_cell(text)} |"
        yield ""


def _title(class_name: str) -> str:
    return " ".join(re.findall(r"[A-Z][a-z]*", class_name.removesuffix("Settings"))) or class_name


def _attribute_docstrings(kind: type) -> dict[str, str]:
    """The string literal after each field of a class."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    found: dict[str, str] = {}
    last = ""
    for node in getattr(body, "body", ()):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            found[last] = str(node.value.value)
    return found


# -- MCP tools ----------------------------------------------------------------------------------------


def _mcp_tools() -> str:
    return (
        "# MCP tools\n\nGenerated from the tools.\n\n## The knowledge server (`periplus mcp`)\n\n"
        f"{render_reference(list_tools())}\n\n## The agent's server (`periplus mcp --agent`)\n\n"
        f"{render_reference(list_agent_tools())}"
    )


# -- REST ---------------------------------------------------------------------------------------------


def _rest() -> Iterator[str]:
    app = FastAPI(title="Periplus", generate_unique_id_function=lambda route: route.name)
    for router in (run_routes.router, visit_routes.api, audit_routes.router):
        app.include_router(router, prefix="/api")
    yield "# REST endpoints\n\nGenerated. The service itself has the whole OpenAPI document at `/api/openapi.json`.\n"
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            yield f"## `{method.upper()} {path}`\n\n{operation['summary']}. {operation.get('description', '')}\n"
            yield from _rest_parameters(operation)
            answers = (
                f"{status} {_cell(each.get('description', ''))}"
                for status, each in operation["responses"].items()
            )
            yield f"Answers: {'; '.join(answers)}\n"


def _rest_parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        f"| `{each['name']}` | {each['in']} | {_cell(each.get('description', ''))} |"
        for each in operation.get("parameters", ())
    ]
    body = operation.get("requestBody", {}).get("content", {})
    rows += [f"| body | {media} | `{_schema_name(each.get('schema', {}))}` |" for media, each in body.items()]
    if rows:
        yield "| | | |\n|---|---|---|"
        yield from rows
        yield ""


def _schema_name(schema: Mapping[str, Any]) -> str:
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    named = [each["$ref"].rpartition("/")[2] for each in options if "$ref" in each]
    return " or ".join(named) or str(schema.get("type", "object"))


# -- documents of a knowledge base --------------------------------------------------------------------


def _documents() -> Iterator[str]:
    yield "# Documents of a knowledge base\n\nGenerated from the JSON Schema that `periplus kb schema` writes.\n"
    for kind, schema in all_schemas().items():
        yield f"## {kind}\n\n{_cell(schema.get('description', ''))}\n"
        yield "| field | type | |\n|---|---|---|"
        required = set(schema.get("required", ()))
        for field, part in schema.get("properties", {}).items():
            mark = "" if field in required else "?"
            yield f"| `{field}`{mark} | {_type(part)} | {_cell(part.get('description', ''))} |"
        yield ""


def _type(part: Mapping[str, Any]) -> str:
    if "$ref" in part:
        return f"`{part['$ref'].rpartition('/')[2]}`"
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return ", ".join(f"`{each}`" for each in part["enum"])
    options = [*part.get("anyOf", ()), *part.get("oneOf", ())]
    if options:
        return _alternatives(
            list(dict.fromkeys(_type(each) for each in options if each.get("type") != "null"))
        )
    if part.get("type") == "array":
        return f"list of {_type(part.get('items', {}))}"
    return str(part.get("type", "any"))


def _alternatives(names: list[str]) -> str:
    if "`DomContains`" in names:
        return "condition"
    shown = " or ".join(names[:MOST_TYPES])
    return shown if len(names) <= MOST_TYPES else f"{shown} or one of {len(names) - MOST_TYPES} more"


# -- the hook -----------------------------------------------------------------------------------------


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the site (called by MkDocs)."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the tests import this module without MkDocs

    pages = reference_pages()
    pages |= {target: (ROOT / source).read_text(encoding="utf-8") for source, target in OUTSIDE.items()}
    pages["decisions/index.md"] = _decisions()
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def _decisions() -> str:
    lines = ["# Decisions\n\nOne note for each decision that a newcomer would question.\n"]
    for path in sorted((ROOT / "docs/decisions").glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links into the repository into links of the site, or into text (called by MkDocs)."""
    source = page.file.src_uri
    inside = {target: name for name, target in OUTSIDE.items()}
    place = posixpath.dirname(inside.get(source) or f"docs/{source}")

    def corrected(match: re.Match[str]) -> str:
        text, link, anchor = match.group(1), match.group(2), match.group(3) or ""
        target = posixpath.normpath(posixpath.join(place, link))
        if target == "docs/decisions":
            target = "docs/decisions/index.md"
        if target in OUTSIDE:
            wanted = OUTSIDE[target]
        elif target.startswith("docs/"):
            wanted = target.removeprefix("docs/")
        else:
            return f"{text} (`{target}`)" if f"`{target}`" != text else text
        return f"[{text}]({posixpath.relpath(wanted, posixpath.dirname(source) or '.')}{anchor})"

    return _LINK.sub(corrected, markdown)
