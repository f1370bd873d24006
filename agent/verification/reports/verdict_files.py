"""Writes and reads `verdict_<req_id>.json` (PACTS 8.3)."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from kb_schema.verification import VerdictReport


def verdict_path(folder: Path, req_id: str) -> Path:
    """Return the path of a requirement's report."""
    return folder / f"verdict_{req_id}.json"


def write_verdict(report: VerdictReport, folder: Path) -> Path:
    """Write the report atomically and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = verdict_path(folder, report.req_id)
    new = path.with_suffix(".new")
    new.write_text(report.model_dump_json(indent=2, by_alias=True) + "\n", encoding="utf-8")
    new.replace(path)
    return path


def read_verdict(folder: Path, req_id: str) -> VerdictReport | None:
    """Return the report of a requirement; None if there is none that can be read."""
    try:
        return VerdictReport.model_validate_json(verdict_path(folder, req_id).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
