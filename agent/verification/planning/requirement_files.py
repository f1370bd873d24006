"""Reads requirements from files of any format: detects the format, reads drafts, returns checked
requirements.

The extension determines the format; the content must match it. Files are read in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from agent.inferencer import Inferencer
from agent.telemetry import traced
from agent.verification.planning import gherkin, prose_requirements
from agent.verification.planning.delimited_tables import read_delimited
from agent.verification.planning.excel_workbooks import read_workbook
from agent.verification.planning.json_requirements import read_objects, read_step_objects
from agent.verification.planning.pipe_format import has_pipes, read_pipes
from agent.verification.planning.requirement_composer import compose_requirements
from agent.verification.planning.requirement_problems import RequirementProblem, RequirementsInvalid
from agent.verification.planning.requirement_tables import TableDrafts
from kb_schema.verification import Requirement, SourceLocation

WORKBOOKS = (".xlsx", ".xlsm")
DELIMITED = (".csv", ".tsv")
TEXTS = (".txt", ".md", ".markdown", ".pipe")
EXTENSIONS = (*WORKBOOKS, *DELIMITED, ".json", ".feature", *TEXTS)
MOST_BYTES = 16_000_000
"""Limit for a text file."""


@dataclass(slots=True)
class _ProseText:
    """A text that only a language model can read."""

    text: str
    file: str
    folder: Path


@dataclass(slots=True)
class _RequirementFiles:
    found: list[TableDrafts] = field(default_factory=list)
    prose: list[_ProseText] = field(default_factory=list)


FileReading = Callable[[Callable[[Sequence[Path]], "_RequirementFiles"], Sequence[Path]], "_RequirementFiles"]


def call_directly(
    function: Callable[[Sequence[Path]], _RequirementFiles], paths: Sequence[Path]
) -> _RequirementFiles:
    """Read the files in this process."""
    return function(paths)


@traced("planner")
async def read_requirements(
    paths: Sequence[Path],
    *,
    inferencer: Inferencer | None = None,
    default_url: str | None = None,
    read: FileReading = call_directly,
) -> list[Requirement]:
    """Return the requirements of files, and of the files in folders, in order (PACTS 4.1).

    `default_url` is where requirements begin that name no URL. `inferencer` is used for free prose only. `read` calls
    the function that reads the files, for example in a process with limits.
    Raises `RequirementsInvalid` with every problem of every file.
    """
    files = await asyncio.to_thread(read, _read_all, [Path(path) for path in paths])
    for text in files.prose:
        files.found.append(
            await prose_requirements.read_prose(
                text.text, file=text.file, folder=text.folder, inferencer=inferencer
            )
        )
    drafts = [draft for found in files.found for draft in found.drafts]
    requirements, problems = await asyncio.to_thread(compose_requirements, drafts, default_url=default_url)
    problems = [*(each for found in files.found for each in found.problems), *problems]
    if not problems and not requirements:
        problems = [RequirementProblem(SourceLocation(), "no requirements", "give files with requirements")]
    if problems:
        raise RequirementsInvalid(problems)
    return requirements


def requirement_of(
    req_id: str,
    url: str,
    steps: Sequence[str | Mapping[str, JsonValue]],
    *,
    title: str = "",
    login: str | None = None,
    tags: Sequence[str] = (),
    folder: Path | None = None,
    checks_files: bool = True,
) -> Requirement:
    """Return the requirement of a request (PACTS 10.1), given as lines of the pipe format or step objects.

    `folder`: where relative paths of files to upload start; without `checks_files` they stay as they are, and may
    be missing. Raises `RequirementsInvalid`.
    """
    found = read_step_objects(req_id, url, steps, title=title, login=login, tags=tags, folder=folder)
    for draft in found.drafts:
        draft.checks_files = checks_files
    requirements, problems = compose_requirements(found.drafts)
    problems = [*found.problems, *problems]
    if problems:
        raise RequirementsInvalid(problems)
    return requirements[0]


def _read_all(paths: Sequence[Path]) -> _RequirementFiles:
    files = _RequirementFiles()
    for path in paths:
        if path.is_dir():
            inside = sorted(
                each for each in path.iterdir() if each.suffix.lower() in EXTENSIONS and each.is_file()
            )
            inside = [each for each in inside if not each.name.startswith(("~$", "."))]
            if not inside:
                fix = f"put files there that end in {', '.join(EXTENSIONS)}"
                files.found.append(
                    TableDrafts(
                        problems=[
                            RequirementProblem(
                                SourceLocation(file=str(path)), "no requirements in this folder", fix
                            )
                        ]
                    )
                )
            for each in inside:
                _read_file(each, files)
        else:
            _read_file(path, files)
    return files


def _read_file(path: Path, files: _RequirementFiles) -> None:
    place = SourceLocation(file=str(path))
    extension = path.suffix.lower()
    try:
        refused = _refused(path, extension)
        if refused:
            files.found.append(TableDrafts(problems=[RequirementProblem(place, *refused)]))
        elif extension in WORKBOOKS:
            files.found.append(read_workbook(path, file=str(path), fallback_id=path.stem))
        else:
            _read_text(path, _decoded(path.read_bytes()), files)
    except OSError as exc:
        files.found.append(
            TableDrafts(
                problems=[RequirementProblem(place, f"cannot be read: {exc.strerror}", "see its permissions")]
            )
        )
    except UnicodeDecodeError:
        files.found.append(
            TableDrafts(
                problems=[
                    RequirementProblem(place, "not UTF-8 text", "save it as UTF-8 (Excel: `CSV UTF-8`)")
                ]
            )
        )


def _refused(path: Path, extension: str) -> tuple[str, str] | None:
    """Return why a file is not read, and what to do."""
    if not path.exists():
        return "there is no such file", "correct the path"
    if not path.is_file():
        return "not a file", "give a file, or a folder of files"
    if extension not in EXTENSIONS:
        told = "the old .xls format" if extension == ".xls" else f"unknown extension {extension!r}"
        return told, "save it as .xlsx" if extension == ".xls" else f"known are {', '.join(EXTENSIONS)}"
    return _unfit(path, extension)


def _unfit(path: Path, extension: str) -> tuple[str, str] | None:
    """Check a file with a known extension by its size and first bytes."""
    size = path.stat().st_size
    if size == 0:
        return "empty", "write requirements into it"
    if extension in WORKBOOKS:
        return None
    if size > MOST_BYTES:
        return f"{size / 1e6:,.0f} MB", f"split it into files of at most {MOST_BYTES / 1e6:,.0f} MB"
    with path.open("rb") as opened:
        head = opened.read(4)
    if head in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        return (
            f"an Excel workbook named {extension}",
            "name it .xlsx, or save it in the format it is named for",
        )
    return None


def _decoded(data: bytes) -> str:
    """Decode a text by its byte-order mark, otherwise as UTF-8. Raises `UnicodeDecodeError`."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


def _read_text(path: Path, text: str, files: _RequirementFiles) -> None:
    extension, file, folder, stem = path.suffix.lower(), str(path), path.parent, path.stem
    if not text.strip():
        files.found.append(
            TableDrafts(
                problems=[
                    RequirementProblem(SourceLocation(file=file), "empty", "write requirements into it")
                ]
            )
        )
    elif "\x00" in text:
        files.found.append(
            TableDrafts(
                problems=[RequirementProblem(SourceLocation(file=file), "not a text file", "save it as text")]
            )
        )
    elif extension == ".json":
        files.found.append(read_objects(text, file=file, fallback_id=stem, folder=folder))
    elif extension in DELIMITED:
        files.found.append(read_delimited(text, file=file, fallback_id=stem, folder=folder))
    elif extension == ".feature" or gherkin.is_feature(text):
        files.found.append(gherkin.read_feature(text, file=file, fallback_id=stem, folder=folder))
    elif has_pipes(text):
        files.found.append(read_pipes(text, file=file, fallback_id=stem, folder=folder))
    else:
        files.prose.append(_ProseText(text, file, folder))
