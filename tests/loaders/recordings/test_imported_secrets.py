"""No importer keeps a secret in clear, in whatever language its field is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kb_schema.session_writer import write_session
from loaders.bridges.playwright_suites.suite_import import read_playwright
from loaders.files.folder_writer import write_folder
from loaders.recordings.field_names import MarkedFields
from loaders.recordings.formats import read_recording
from tests.support import warm
from tests.support.secret_names import list_secret_names, secret_value

if TYPE_CHECKING:
    from pathlib import Path

NAMES = list_secret_names()


def _chrome(field: str, value: str, number: int) -> dict[str, Any]:
    selectors = {
        0: [[f"aria/{field}"], ["#input-7"]],
        1: [[f'[name="{field}"]'], ["xpath///form/div[2]/input"]],
        2: [[f"pierce/#{field.replace(' ', '-').replace('[', '-').replace(']', '')}"]],
    }[number % 3]
    return {"type": "change", "value": value, "selectors": selectors}


def _selenium(field: str, value: str, number: int) -> dict[str, Any]:
    quoted = f"xpath=//input[@name={json.dumps(field, ensure_ascii=False)}]"
    target = {0: f"name={field}", 1: f"id={field}", 2: "css=div:nth-child(3) > input"}[number % 3]
    return {"command": "type" if number % 2 else "sendKeys", "target": target, "targets": [[quoted, "xpath:attributes"]],
            "value": value}  # fmt: skip


def _imported(folder: Path, data: object) -> tuple[bytes, int]:
    """Import a recording by the command; return all that was written, and how many steps it has."""
    file = folder / "recording.json"
    file.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    done = warm.run("periplus", "import", str(file), "--out", str(folder / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    written = b"".join(each.read_bytes() for each in (folder / "out").rglob("*") if each.is_file())
    return written + done.stdout.encode(), written.count(b'"action_type"')


def test_user_flows_hold_no_secret_in_clear(tmp_path):
    steps = [_chrome(name, secret_value(at), at) for at, name in enumerate(NAMES)]
    written, count = _imported(tmp_path, {"title": "t", "steps": steps})
    assert count == len(NAMES)
    assert [name for at, name in enumerate(NAMES) if secret_value(at).encode() in written] == []


def test_selenium_projects_hold_no_secret_in_clear(tmp_path):
    commands = [_selenium(name, secret_value(at), at) for at, name in enumerate(NAMES)]
    commands += [{"command": "store", "target": "zqstored", "value": "password"},
                 {"command": "type", "target": "id=pw", "value": "${password}"}]  # fmt: skip
    written, count = _imported(
        tmp_path, {"name": "s", "url": "https://a.test", "tests": [{"name": "t", "commands": commands}]}
    )
    assert count == len(NAMES) + 1
    assert [name for at, name in enumerate(NAMES) if secret_value(at).encode() in written] == []
    assert b"zqstored" not in written


def test_tests_in_code_hold_no_secret_in_clear(tmp_path):
    lines = ["def test_it(page):", '    page.goto("https://a.test/")']
    for at, name in enumerate(NAMES):
        finder = {0: f"get_by_label({name!r})", 1: f"get_by_placeholder({name!r})", 2: f'locator("[name=\\"{name}\\"]")'}[at % 3]  # fmt: skip
        lines.append(f"    page.{finder}.fill({secret_value(at)!r})")
    (tmp_path / "test_it.py").write_text("\n".join(lines), encoding="utf-8")
    draft = read_playwright(tmp_path, "a")
    write_folder(draft.knowledge, tmp_path / "kb")
    written = b"".join(each.read_bytes() for each in (tmp_path / "kb").rglob("*") if each.is_file())
    assert written.count(b"action_type") > len(NAMES)
    assert [name for at, name in enumerate(NAMES) if secret_value(at).encode() in written] == []


def _typed(field: str, value: str) -> dict[str, Any]:
    return {"type": "change", "value": value, "selectors": [[f"#{field}"]]}


@pytest.mark.parametrize(
    ("field", "value", "marks", "kept"),
    [
        ("field_3", "Eternity2life@123", MarkedFields(), False),
        ("field_3", "Eternity2life@123", MarkedFields(plain=frozenset({"field_3"})), True),
        ("field_3", "plain words", MarkedFields(), True),
        ("field_3", "plain words", MarkedFields(secret=frozenset({"Field_3"})), False),
        ("pin", "4711", MarkedFields(), False),
        ("pin", "4711", MarkedFields(plain=frozenset({"pin"})), True),
        ("note", "4111 1111 1111 1111", MarkedFields(), False),
    ],
)
def test_what_looks_like_a_secret_is_asked_for_and_the_person_decides(tmp_path, field, value, marks, kept):
    file = tmp_path / "flow.json"
    file.write_text(json.dumps({"title": "t", "steps": [_typed(field, value)]}))
    (imported,) = read_recording(file, marks)
    write_session(imported.trace, tmp_path / "out")
    assert (value in imported.trace.model_dump_json()) is kept
    notes = imported.trace.metadata.get("notes", [])
    doubtful = field != "pin" and not kept and not marks.secret
    assert [f"--no-secret {field}" in note and note.startswith("line 1, steps[0]") for note in notes] == [
        True
    ] * doubtful


def test_keys_of_a_secret_are_no_steps(tmp_path):
    keys = [{"type": kind, "key": key} for key in "sesame" for kind in ("keyDown", "keyUp")]
    click = {"type": "click", "selectors": [["aria/Senha"], ["#s"]]}
    file = tmp_path / "flow.json"
    file.write_text(json.dumps({"title": "t", "steps": [click, *keys, {"type": "keyDown", "key": "Enter"}]}))
    (imported,) = read_recording(file)
    assert [(step.action_type, (step.args or {}).get("value")) for step in imported.trace.steps] == [
        ("click", None),
        ("press", "Enter"),
    ]
