"""Tries every part of an installation and says whether it works and what to do: browser, voice, stores, models, servers, extras.

"Works" is only said of what was seen to work: modules are imported, the browser shows a page, a model answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from agent.browser.launch import find_sandbox_obstacle
from agent.inferencer import InferenceFailed
from agent.media.media_tools import ESPEAK, FFMPEG, MediaError, MediaTool, run_tool
from kb_schema.base import Model
from kb_schema.owner_folders import is_open_to_others
from kb_store.errors import StoreError
from kb_store.status import store_status
from periplus.errors import UserError
from periplus.extras import EXTRAS, is_installed
from periplus.knowledge_server import connect_knowledge_client
from periplus.language_model import MODEL_ROLES, Role, choose_model, load_inferencer
from periplus.rooms.room_settings import load_room_settings
from periplus.session_setup import open_browser_context
from periplus.settings import load_settings
from periplus.store_selection import open_unprepared_stores
from periplus.telemetry_setup import requested_exporter

CheckState = Literal["works", "missing", "unset", "untried", "broken"]
"""`missing`: not installed, which is fine if it is not needed. `unset`: nothing is configured. `untried`: installed,
but nothing was tried. `broken`: it is configured or installed, and does not work.
"""
IMPORT_S = 120.0
ANSWER_S = 60.0
CONNECT_S = 5.0
QUESTION = "Answer with the one word: works"
_IMPORTS = """
import importlib, json, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException as exc:
        print(json.dumps([name, f"{type(exc).__name__}: {exc}"]), flush=True)
    else:
        print(json.dumps([name, ""]), flush=True)
"""


class CheckResult(Model):
    """One part of the installation."""

    kind: Literal["browser", "voice", "store", "server", "model", "extra"]
    name: str
    state: CheckState
    found: str
    """What was seen."""
    fix: str = ""
    """What to do; empty: nothing."""


async def check_installation(
    *, ask_models: bool = True, mongodb_url: str | None = None, arangodb_url: str | None = None
) -> list[CheckResult]:
    """Return the state of every part. `ask_models`: send each configured model one short question."""
    return [
        await _check_browser(),
        *[await _check_program(tool, *arguments) for tool, arguments in _PROGRAMS],
        *await _check_stores(mongodb_url, arangodb_url),
        *_check_data_folder(load_settings().data_dir),
        await _check_rooms_server(),
        await _check_collector(),
        *await _check_models(ask=ask_models),
        *await _check_extras(),
    ]


# -- browser and programs ---------------------------------------------------------------------------


async def _check_browser() -> CheckResult:
    try:
        async with open_browser_context(headed=False) as context:
            page = await context.new_page()
            await page.set_content("<title>works</title>")
            title = await page.title()
            version = context.browser.version if context.browser is not None else ""
    except UserError as exc:
        return CheckResult(
            kind="browser",
            name="Chromium",
            state="broken",
            found=str(exc),
            fix=f"`periplus install`; {exc.fix}",
        )
    except PlaywrightError as exc:
        return CheckResult(
            kind="browser",
            name="Chromium",
            state="broken",
            found=exc.message.splitlines()[0],
            fix="`periplus install --force`",
        )
    obstacle = find_sandbox_obstacle()
    sandbox = "" if obstacle is None else f"; without its sandbox: {obstacle}"
    state: CheckState = "works" if title == "works" else "broken"
    return CheckResult(kind="browser", name="Chromium", state=state, found=f"{version}{sandbox}")


_PROGRAMS: Sequence[tuple[MediaTool, tuple[str, ...]]] = (
    (ESPEAK, ("--stdout", "works")),
    (FFMPEG, ("-hide_banner", "-version")),
)
"""Program -> arguments by which it does something."""


async def _check_program(tool: MediaTool, *arguments: str) -> CheckResult:
    path = tool.find()
    if path is None:
        return CheckResult(
            kind="voice",
            name=tool.program,
            state="missing",
            found=f"not installed; needed for {tool.purpose}",
            fix=describe_program_installation(tool.package),
        )
    try:
        output = await run_tool(tool, *arguments)
    except (MediaError, OSError) as exc:
        return CheckResult(
            kind="voice",
            name=tool.program,
            state="broken",
            found=str(exc),
            fix=f"install {tool.package} again",
        )
    state: CheckState = "works" if output else "broken"
    return CheckResult(kind="voice", name=tool.program, state=state, found=path)


def describe_program_installation(package: str) -> str:
    """Return the command of this system that installs a program."""
    managers = {"apt-get": "sudo apt-get install", "dnf": "sudo dnf install", "brew": "brew install"}
    known = next((command for name, command in managers.items() if shutil.which(name)), None)
    return f"{known} {package}" if known else f"install {package}"


# -- stores and servers -----------------------------------------------------------------------------


async def _check_stores(mongodb_url: str | None, arangodb_url: str | None) -> list[CheckResult]:
    found: list[CheckResult] = []
    try:
        async with open_unprepared_stores(mongodb_url, arangodb_url) as stores:
            status = await store_status(stores.documents, stores.graph)
            for name, health in status.stores.items():
                state: CheckState = "works" if health.ok else "broken"
                fix = (
                    ""
                    if health.ok
                    else "start the server, or correct PERIPLUS_MONGODB_URL or PERIPLUS_ARANGODB_URL"
                )
                detail = f"{health.address} {health.detail}".strip()
                found.append(CheckResult(kind="store", name=name, state=state, found=detail, fix=fix))
            if status.healthy:
                async with connect_knowledge_client(stores) as client:
                    tools = (await client.list_tools()).tools
                detail = f"{len(tools)} tools, {len(status.websites)} websites"
                found.append(CheckResult(kind="server", name="MCP", state="works", found=detail))
            else:
                broken = "no answer without the stores, or knowledge is damaged"
                found.append(
                    CheckResult(
                        kind="server",
                        name="MCP",
                        state="broken",
                        found=broken,
                        fix="`periplus kb status` says more",
                    )
                )
    except (UserError, StoreError) as exc:
        fix = getattr(exc, "fix", None) or "`periplus kb status` says more"
        found.append(CheckResult(kind="store", name="documents", state="broken", found=str(exc), fix=fix))
    return found


def _check_data_folder(folder: Path) -> list[CheckResult]:
    """Say whether other users of this machine can read the stores; nothing if there is no folder yet."""
    if not folder.is_dir():
        return []
    if not is_open_to_others(folder):
        return [
            CheckResult(
                kind="store", name="data folder", state="works", found=f"{folder}, for its owner only"
            )
        ]
    return [
        CheckResult(
            kind="store", name="data folder", state="missing", fix=f"chmod -R go-rwx {folder}",
            found=f"{folder} can be read by other users of this machine; stored sessions are in it",
        )
    ]  # fmt: skip


async def _check_rooms_server() -> CheckResult:
    try:
        settings = load_room_settings()
    except UserError as exc:
        return CheckResult(kind="server", name="LiveKit", state="broken", found=str(exc), fix=exc.fix or "")
    if settings.url is None:
        return CheckResult(
            kind="server",
            name="LiveKit",
            state="unset",
            found="PERIPLUS_LIVEKIT_URL is not set",
            fix="docs/livekit.md; only for rooms",
        )
    try:
        url, _, _ = settings.reach
    except UserError as exc:
        return CheckResult(kind="server", name="LiveKit", state="broken", found=str(exc), fix=exc.fix or "")
    return await _check_connection("LiveKit", url, "start the server, or correct PERIPLUS_LIVEKIT_URL")


async def _check_collector() -> CheckResult:
    variable = requested_exporter()
    if variable is None:
        return CheckResult(
            kind="server",
            name="OpenTelemetry",
            state="unset",
            found="OTEL_EXPORTER_OTLP_ENDPOINT is not set",
            fix="docs/observability.md; only for spans",
        )
    return await _check_connection(
        "OpenTelemetry", os.environ[variable], f"start the collector, or correct {variable}"
    )


async def _check_connection(name: str, url: str, fix: str) -> CheckResult:
    """Return whether a server accepts connections; no more is known of it."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme in ("https", "wss") else 80)
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(parts.hostname or "", port)
        writer.close()
    except (OSError, TimeoutError, ValueError) as exc:
        reason = str(exc) or "no answer"
        return CheckResult(
            kind="server", name=name, state="broken", found=f"{parts.hostname}: {reason}", fix=fix
        )
    return CheckResult(
        kind="server", name=name, state="works", found=f"{parts.hostname}:{port} accepts connections"
    )


# -- models -----------------------------------------------------------------------------------------


async def _check_models(*, ask: bool) -> list[CheckResult]:
    try:
        named = {role: choose_model(role) for role in MODEL_ROLES}
    except UserError as exc:
        return [CheckResult(kind="model", name="settings", state="broken", found=str(exc), fix=exc.fix or "")]
    names = dict.fromkeys(name for name in named.values() if name is not None)
    if not names:
        fix = "PERIPLUS_MODEL=provider:model; docs/models.md. Everything works without one"
        return [
            CheckResult(kind="model", name="none", state="unset", found="PERIPLUS_MODEL is not set", fix=fix)
        ]
    roles = {name: [role for role in MODEL_ROLES if named[role] == name] for name in names}
    return [await _check_model(name, roles[name], ask=ask) for name in names]


async def _check_model(name: str, roles: Sequence[Role], *, ask: bool) -> CheckResult:
    used = f"for {', '.join(roles)}"
    try:
        model = load_inferencer(roles[0])
    except UserError as exc:
        return CheckResult(kind="model", name=name, state="broken", found=str(exc), fix=exc.fix or "")
    if model is None or not ask:
        return CheckResult(
            kind="model",
            name=name,
            state="untried",
            found=f"{used}; it was not asked",
            fix="leave out --no-ask",
        )
    try:
        async with asyncio.timeout(ANSWER_S):
            await model.infer(QUESTION)
    except (InferenceFailed, TimeoutError) as exc:
        fix = getattr(exc, "hint", None) or "check the name, the key and the network"
        reason = str(exc) or f"no answer within {ANSWER_S:g} s"
        return CheckResult(kind="model", name=name, state="broken", found=reason, fix=fix)
    said = f"{used}; it answered ({model.meter.use.describe()})"
    return CheckResult(kind="model", name=name, state="works", found=said)


# -- extras -----------------------------------------------------------------------------------------


async def _check_extras() -> list[CheckResult]:
    """Import the modules of the installed extras in a process of their own: what is broken must not end this one."""
    wanted = dict.fromkeys(each for modules in EXTRAS.values() for each in modules if is_installed(each))
    failures = await _import_apart(tuple(wanted))
    found = []
    for extra, modules in EXTRAS.items():
        missing = [each for each in modules if each not in wanted]
        wrong = [f"{each}: {failures[each]}" for each in modules if failures.get(each)]
        install = f"pip install 'periplus[{extra}]'"
        if missing:
            detail = f"{', '.join(missing)} not installed"
            found.append(CheckResult(kind="extra", name=extra, state="missing", found=detail, fix=install))
        elif wrong:
            found.append(
                CheckResult(
                    kind="extra",
                    name=extra,
                    state="broken",
                    found="; ".join(wrong),
                    fix=f"{install} --force-reinstall",
                )
            )
        else:
            found.append(CheckResult(kind="extra", name=extra, state="works", found=", ".join(modules)))
    return found


async def _import_apart(modules: Sequence[str]) -> dict[str, str]:
    """Return the error of each module; empty: it was imported."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _IMPORTS,
        *modules,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(IMPORT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        output, _ = await process.communicate()
    told = dict.fromkeys(modules, "its import ended the process, or took too long")
    for line in output.decode(errors="replace").splitlines():
        try:
            name, error = json.loads(line)
        except ValueError:  # what a module prints at its import
            continue
        told[str(name)] = str(error)
    return told
