"""Builds the knowledge base of an exploration and writes it, without a browser."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
from pathlib import Path

from loaders import TargetFolderOccupied, write_folder
from loaders.exploration_import import ExploredKnowledge, build_knowledge
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.ended_work import WorkEnded, run_until_signal
from periplus.exploration.map_folder import MapFolder
from periplus.signals import on_signals

DRAWN = "drawn.json"
"""File with the hashes of the generated files, to detect manual edits."""


def check_unedited(folder: MapFolder) -> None:
    """Raises `UserError` if generated files were edited."""
    there = _files(folder.knowledge)
    if not there:
        return
    try:
        was = json.loads((folder.path / DRAWN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        was = {}
    if there != was:
        changed = sorted(name for name in {*there, *was} if there.get(name) != was.get(name))
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise UserError(
            f"{folder.knowledge} was edited after it was generated ({changed[0]}{more})",
            fix="move it, generate it again and compare with `periplus kb diff`; --force overwrites it",
        )


def is_unedited(folder: MapFolder) -> bool:
    """Return whether the files are as they were generated."""
    try:
        check_unedited(folder)
    except UserError:
        return False
    return True


def note_generated(folder: MapFolder) -> None:
    """Note the files of the knowledge base as generated: later edits are detected. Raises `OSError`."""
    (folder.path / DRAWN).write_text(json.dumps(_files(folder.knowledge), indent=1), encoding="utf-8")


async def write_knowledge_base(
    folder: MapFolder, *, name: str | None = None, force: bool = False
) -> ExploredKnowledge:
    """Build the knowledge base of an exploration and write it next to it.

    Ctrl-C ends the building; writing, which is short, is finished. Raises `KnowledgeError` for an unreadable folder. Raises
    `UserError` if the exploration has no pages, if generated files were edited (unless `force`), if writing fails, or if it was
    ended: the pages are stored then, and the knowledge base is as it was. So it is if no page became a screen, with exit code 1.
    """
    if not force:
        check_unedited(folder)
    if not folder.exploration.pages():
        raise UserError(
            f"the exploration has no pages: {folder.path}",
            fix="check that the website opens, then map it again",
        )
    signed_out = folder.signed_out if folder.signed_out.exists else None
    try:
        result = await run_until_signal(
            lambda: build_knowledge(folder.exploration, signed_out=signed_out, name=name)
        )
    except WorkEnded as exc:
        raise UserError(
            f"stopped before the knowledge base was written; the pages are stored in {folder.path}",
            fix=f"periplus map --redraw {folder.path} writes it from them",
            code=ExitCode.INTERRUPTED,
        ) from exc
    if not result.knowledge.screens:
        raise _report_no_screens(result, folder)
    with on_signals(_finish_writing, signal.SIGINT, signal.SIGTERM):
        await asyncio.to_thread(_write, result, folder, force=force)
    return result


def _report_no_screens(result: ExploredKnowledge, folder: MapFolder) -> UserError:
    told = "; ".join(result.warnings[:3]) or "nothing distinguishes them"
    return UserError(
        f"no page became a screen, so no knowledge base was written: {told}",
        fix=f"the pages are stored in {folder.path}: look at them, and map more of the site (--also, --sign-in-form)",
        code=ExitCode.FAILED,
    )


def _finish_writing() -> None:
    """Do nothing: files that are half written would be taken for edited ones."""


def _write(result: ExploredKnowledge, folder: MapFolder, *, force: bool) -> None:
    try:
        write_folder(result.knowledge, folder.knowledge, force=force)
        note_generated(folder)
    except TargetFolderOccupied as exc:
        raise UserError(str(exc), fix="choose another folder with --out") from exc
    except OSError as exc:
        raise UserError(
            f"{folder.knowledge} cannot be written: {exc.strerror}", fix="choose another folder with --out"
        ) from exc


def _files(folder: Path) -> dict[str, str]:
    """Map the relative path of each file in a folder to the hash of its content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
