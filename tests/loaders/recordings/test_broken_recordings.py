"""Whatever is broken in a recording, it is read as far as it goes or refused by name, and never an error of ours."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kb_schema.session_reader import read_session
from kb_schema.session_writer import write_session
from loaders.recordings.formats import read_recording
from loaders.recordings.imported_traces import UnreadableRecording
from tests.support.rotation import dice

JUNK: list[Any] = [
    None, True, -1, 1e308, float("nan"), 10**30, "", "../x", "\ud800", "a\0b", [], {}, [[]], {"a": [1]}, [[1, 2]],
]  # fmt: skip
TIMES = 60


def _side(*commands: tuple[str, ...]) -> dict[str, Any]:
    told = [
        dict(zip(("command", "target", "value"), each, strict=False))
        | {"targets": [["css=#b", "css:finder"]], "opensWindow": True, "windowHandleName": "w"}
        for each in commands
    ]
    return {"name": "s", "url": "https://a.test", "tests": [{"name": "t", "commands": told}]}


FLOW = {"title": "t", "steps": [
    {"type": "navigate", "url": "https://a.test/", "assertedEvents": [{"type": "navigation", "url": "https://a.test/"}]},
    {"type": "click", "selectors": [['aria/Go[role="button"]'], ["xpath//a"], ["a", "b"]], "frame": [0]},
    {"type": "change", "value": "x", "selectors": [["#password"], ["select"]]}, {"type": "keyDown", "key": "Enter"},
]}  # fmt: skip
SIDE = _side(
    ("open", "/"), ("store", "x", "y"), ("type", "id=a", "${y}"), ("sendKeys", "id=a", "q${KEY_ENTER}"),
    ("select", "id=a", "label=L"), ("storeWindowHandle", "r"), ("selectWindow", "handle=${w}"), ("pause", "3"),
    ("selectFrame", "index=0"), ("answerOnNextPrompt", "z"), ("click", "linkText=Q"), ("runScript", "x()"),
)  # fmt: skip
_PAGE = [
    "HTML",
    {},
    ["BODY", {}, ["INPUT", {"type": "text", "__playwright_target__": "c", "__playwright_value_": "v"}]],
]
TRACE = [
    {"type": "context-options", "wallTime": 1_700_000_000_000, "monotonicTime": 1.5},
    {"type": "event", "method": "page", "params": {"pageId": "p"}},
    {"type": "before", "callId": "c", "startTime": 2.5, "class": "Frame", "method": "fill", "params": {"selector": "#a", "value": "x"}},
    {"type": "frame-snapshot", "snapshot": {"callId": "c", "phase": "before", "frameId": "f", "pageId": "p",
                                            "frameUrl": "https://a.test/", "isMainFrame": True, "html": _PAGE}},
    {"type": "frame-snapshot", "snapshot": {"callId": "c", "phase": "action", "frameId": "f", "pageId": "p",
                                            "frameUrl": "https://a.test/", "isMainFrame": True, "html": [[1, 1]]}},
    {"type": "event", "method": "dialog", "params": {"type": "prompt"}},
    {"type": "before", "callId": "d", "class": "Dialog", "method": "accept", "params": {"promptText": "t"}},
    {"type": "after", "callId": "c", "error": {"message": "no"}},
    {"type": "before", "callId": "e", "class": "Frame", "method": "selectOption", "params": {"selector": "css=#a", "options": [{"label": "L"}]}},
    {"type": "before", "callId": "g", "class": "Frame", "method": "setInputFiles", "params": {"selector": "#a", "payloads": [{"name": "n"}]}},
]  # fmt: skip


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from _places(each, (*path, key))


def _broken(data: Any, drawn: Random) -> Any:
    broken = copy.deepcopy(data)
    for _ in range(drawn.randint(1, 3)):
        places = list(_places(broken))
        if not places:
            break  # nothing is left of it
        *way, last = drawn.choice(places)
        node = broken
        for key in way:
            node = node[key]
        if isinstance(node, dict) and drawn.random() < 0.2:
            del node[last]
        else:
            node[last] = copy.deepcopy(drawn.choice(JUNK))
    return broken


def _written(data: Any, file: Path) -> None:
    if isinstance(data, dict):
        file.write_text(json.dumps(data))
        return
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("trace.trace", "\n".join(map(json.dumps, data)))


@pytest.mark.parametrize("whole", [FLOW, SIDE, TRACE], ids=["chrome", "selenium", "playwright"])
def test_a_broken_recording_is_read_as_far_as_it_goes_or_refused(tmp_path, whole):
    file, drawn = tmp_path / "recording", dice("broken recordings")
    _written(whole, file)
    most = len(read_recording(file)[0].trace.steps)
    assert most >= 3
    for number in range(TIMES):
        _written(_broken(whole, drawn), file)
        try:
            (found,) = read_recording(file)
        except UnreadableRecording:
            continue
        folder = tmp_path / str(number)
        write_session(found.trace, folder)
        assert len(read_session(folder).steps) == len(found.trace.steps) <= most


def test_a_zip_that_was_cut_off_is_refused_as_such(tmp_path):
    file = tmp_path / "trace.zip"
    _written(TRACE, file)
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(UnreadableRecording, match="is a broken zip file"):
        read_recording(file)
