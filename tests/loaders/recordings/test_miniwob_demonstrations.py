"""Demonstrations in the format of MiniWoB++: every event twice, noisy typing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from loaders.recordings.formats import read_recording
from loaders.recordings.imported_traces import UnreadableRecording

Node = dict[str, Any]


def _node(tag: str, *children: Node, target: bool = False, **more: Any) -> Node:
    box = {"left": 0, "top": 0, "width": 10, "height": 10, "ref": 1, "id": "", "classes": ""}
    return {
        "tag": tag,
        **box,
        "children": list(children),
        **({"recordingTarget": True} if target else {}),
        **more,
    }


def _page(name: str = "", word: str = "", *, ticked: bool = False, at: str = "") -> Node:
    """A form with two fields, a box with its label, and a button; `at` is where the event is."""
    return _node(
        "BODY",
        _node(
            "DIV",
            _node("INPUT_text", id="name", value=name, text="", target=at == "name"),
            _node("INPUT_password", id="word", value=word, text="", target=at == "word"),
            _node("LABEL", _node("INPUT_checkbox", id="box", value=ticked, text="", target=at == "box"),
                  _node("t", text="Agreed"), target=at == "label"),
            _node("BUTTON", id="go", text="Go", target=at == "go"),
            id="area", target=at == "area",
        ),
        target=at == "body",
    )  # fmt: skip


class _Demo:
    def __init__(self, utterance: str = "Say hello") -> None:
        self.states: list[Node] = [{"time": 0, "action": None, "dom": _page()}]
        self.utterance, self._time = utterance, 0

    def event(self, kind: str, dom: Node, wait: int = 100, **more: Any) -> None:
        self._time += wait
        for timing in (1, 3):
            action = {"type": kind, "x": 1, "y": 1, "timing": timing, **more}
            self.states.append({"time": self._time, "action": action, "dom": dom})

    def press(self, dom: Node) -> None:
        for kind in ("mousedown", "mouseup", "click"):
            self.event(kind, dom)

    def key(self, before: Node, after: Node, code: int = 65) -> None:
        for kind in ("keydown", "keypress"):
            self.event(kind, before, keyCode=code, charCode=code)
        self.event("keyup", after, keyCode=code)

    def file(self, folder: Path, reward: float = 1.0) -> Path:
        file = folder / "007.json.gz"
        told = {"taskName": "greet", "utterance": self.utterance, "states": self.states, "rawReward": reward}
        with gzip.open(file, "wt") as packed:
            json.dump(told, packed)
        return file


def test_noisy_events_become_the_actions_they_were_meant_as(tmp_path):
    demo = _Demo()
    demo.press(_page(at="name"))
    demo.key(_page(at="name"), _page("Q", at="name"))
    demo.key(_page("Q", at="name"), _page("", at="name"), code=8)
    for now, then in (("", "A"), ("A", "Ad")):
        demo.key(_page(now, at="name"), _page(then, at="name"))
    demo.event("keydown", _page("Ad", at="name"), keyCode=9)
    demo.press(_page("Ad", at="area"))  # on nothing
    demo.press(_page("Ad", at="label"))
    demo.event("click", _page("Ad", ticked=True, at="box"), wait=3)  # what the browser makes of the label's
    demo.press(_page("Ad", ticked=True, at="go"))
    demo.event("keydown", _page("Ad", ticked=True, at="go"), keyCode=13)

    (imported,) = read_recording(demo.file(tmp_path))

    trace = imported.trace
    assert (trace.trace_id, trace.task_description, trace.success) == ("greet-007", "Say hello", True)
    assert [(step.action_type, step.args, (step.target or {}).get("strategies", [{}])[0].get("value"))
            for step in trace.steps] == [
        ("fill", {"value": "Ad"}, "name"),
        ("check", None, "box"),
        ("click", None, "go"),
        ("press", {"value": "Enter"}, "go"),
    ]  # fmt: skip
    assert 'id="box"' in (trace.steps[1].html_before or "")
    assert "checked" not in (trace.steps[1].html_before or "")
    assert "checked" in (trace.steps[1].html_after or "")


@pytest.mark.parametrize(("utterance", "kept"), [("Sign in", False), ("Sign in with tr0ub4dor", True)])
def test_a_password_is_kept_only_where_the_task_itself_tells_it(tmp_path, utterance, kept):
    demo = _Demo(utterance)
    demo.press(_page(at="word"))
    demo.key(_page(at="word"), _page(word="tr0ub4dor", at="word"))
    demo.press(_page(word="tr0ub4dor", at="go"))
    (imported,) = read_recording(demo.file(tmp_path))
    step = imported.trace.steps[0]
    assert step.metadata == {"secret": True}
    assert (step.args or {})["value"] == ("tr0ub4dor" if kept else "•••")
    assert imported.secrets == (frozenset() if kept else {"tr0ub4dor"})


def test_a_demonstration_without_reward_is_a_failed_trace(tmp_path):
    demo = _Demo()
    demo.press(_page(at="go"))
    (imported,) = read_recording(demo.file(tmp_path, reward=-1))
    assert (imported.trace.success, imported.trace.error) == (False, "it ended with the reward -1")


@pytest.mark.parametrize(
    ("states", "place"),
    [
        ([], "states"),
        ([{"time": 0}], r"states\[0\]"),
        ("x", "states"),
        ([{"dom": {"tag": "BODY", "children": ["x"]}}], r"states\[0\]: has no page"),
        ([{"dom": {"tag": "BODY", "children": {"tag": "P"}}}], r"states\[0\]: has no page"),
        ([{"dom": {"tag": "BODY"}, "action": "click"}], r"states\[0\]\.action: has no event"),
        (
            [{"dom": {"tag": "BODY"}, "action": {"type": "keydown", "keyCode": []}}],
            r"states\[0\]\.action: has no event",
        ),
    ],
)
def test_a_demonstration_without_pages_is_refused_with_the_place(tmp_path, states, place):
    file = tmp_path / "000.json"
    file.write_text(json.dumps({"taskName": "t", "utterance": "", "states": states}))
    with pytest.raises(UnreadableRecording, match=place):
        read_recording(file)


@pytest.mark.parametrize("time", [1e308, float("nan"), float("inf"), -1e300])
def test_a_time_that_no_clock_has_is_none(tmp_path, time):
    demo = _Demo()
    demo.press(_page(at="go"))
    file = demo.file(tmp_path)
    recording = json.loads(gzip.decompress(file.read_bytes()))
    for state in recording["states"]:
        state["time"] = time
    file.write_text(json.dumps(recording))
    (imported,) = read_recording(file)
    assert len(imported.trace.steps) == 1
