"""User flows of the recorder in Chrome's DevTools, in the form in which it exports them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loaders.recordings.formats import read_recording
from loaders.recordings.imported_traces import LEFT_OUT, UnreadableRecording

URL = "https://shop.test/login"
FLOW: dict[str, Any] = {
    "title": "Buy a tea",
    "steps": [
        {"type": "setViewport", "width": 1280, "height": 720, "deviceScaleFactor": 1, "isMobile": False,
         "hasTouch": False, "isLandscape": True},
        {"type": "navigate", "url": URL,
         "assertedEvents": [{"type": "navigation", "url": URL, "title": "Sign in"}]},
        {"type": "change", "target": "main", "value": "ada@shop.test",
         "selectors": [["aria/E-mail"], ["#email"], ['xpath///*[@id="email"]'], ["pierce/#email"], ["text/E"]]},
        {"type": "change", "target": "main", "value": "open sesame",
         "selectors": [["#login-password"], ['xpath///*[@id="login-password"]']]},
        {"type": "keyDown", "target": "main", "key": "Tab"}, {"type": "keyUp", "target": "main", "key": "Tab"},
        {"type": "keyDown", "target": "main", "key": "Enter"},
        {"type": "keyUp", "target": "main", "key": "Enter",
         "assertedEvents": [{"type": "navigation", "url": "https://shop.test/", "title": "Shop"}]},
        {"type": "click", "target": "main", "offsetX": 4, "offsetY": 9,
         "selectors": [['aria/Add[role="button"]'], ["tea-card", "button.add"]]},
        {"type": "change", "target": "main", "value": "2", "selectors": [["form > select"]]},
        {"type": "click", "button": "auxiliary", "offsetX": 1, "offsetY": 1, "selectors": [["#x"]]},
        {"type": "click", "frame": [0], "selectors": [['aria/Pay[role="button"]']], "offsetX": 1, "offsetY": 1},
        {"type": "doubleClick", "selectors": [["#cart"]], "offsetX": 1, "offsetY": 1},
        {"type": "keyDown", "key": "Control"}, {"type": "keyDown", "key": "s"}, {"type": "keyUp", "key": "Control"},
        {"type": "customStep", "name": "own", "parameters": {}},
        {"type": "waitForElement", "selectors": [["#done"]]},
    ],
}  # fmt: skip


def _file(folder: Path, flow: object) -> Path:
    file = folder / "tea.json"
    file.write_text(json.dumps(flow))
    return file


def test_a_user_flow_becomes_a_trace(tmp_path):
    (imported,) = read_recording(_file(tmp_path, FLOW))
    trace = imported.trace
    assert (trace.trace_id, trace.task_description, trace.success) == ("tea", "Buy a tea", True)
    assert [(step.action_type, step.args) for step in trace.steps] == [
        ("navigate", {"url": URL}),
        ("fill", {"value": "ada@shop.test"}),
        ("fill", {"value": LEFT_OUT}),
        ("press", {"value": "Enter"}),
        ("click", None),
        ("select_option", {"value": "2"}),
        ("click", None),
        ("double_click", None),
        ("press", {"value": "Control+s"}),
    ]
    email, add, pay = trace.steps[1], trace.steps[4], trace.steps[6]
    told = [(each["type"], each.get("value") or each.get("name")) for each in email.target["strategies"]]
    first = [("label", "E-mail"), ("placeholder", "E-mail")]
    assert [each for each in told if each[0] != "role_name"][:4] == [
        *first, ("css", "#email"), ("xpath", '//*[@id="email"]')
    ]  # fmt: skip
    assert add.source_url == "https://shop.test/"
    assert add.target["strategies"][0] | {"exact": True} == {
        "type": "role_name", "name": "Add", "role": "button", "exact": True, "fallback": False,
        "meta": {"recorded": 0},
    }  # fmt: skip
    assert add.target["strategies"][1]["value"] == "tea-card >>> button.add"
    assert pay.target["frame"] == "iframe"


def test_what_was_typed_into_a_password_field_is_kept_back(tmp_path):
    (imported,) = read_recording(_file(tmp_path, FLOW))
    assert imported.secrets == {"open sesame"}
    assert "sesame" not in imported.trace.model_dump_json()
    assert imported.trace.steps[2].metadata["secret"] is True


def test_steps_that_cannot_be_read_are_told_with_their_place(tmp_path):
    flow = FLOW | {"steps": [*FLOW["steps"], {"type": "click", "selectors": []}, "x", {"type": "click", "frame": [1, 0],
                                              "selectors": [["#a"]]}]}  # fmt: skip
    (imported,) = read_recording(_file(tmp_path, flow))
    told = imported.trace.metadata["problems"]
    assert [problem.split(":")[0] for problem in told] == [f"line 1, steps[{at}]" for at in (10, 16, 18)] + [
        "steps[19]",
        "line 1, steps[20]",
    ]
    assert "auxiliary" in told[0]
    assert "frame [1, 0]" in told[4]


@pytest.mark.parametrize(
    ("text", "place"),
    [("{", "line 1"), ("[]", "not one object"), ("{}", "not in a supported format"), ('{"title": "", "steps": 3}', "steps"),
     ("PK\x03\x04 but no zip", "broken zip")],
)  # fmt: skip
def test_a_file_that_is_no_recording_is_refused(tmp_path, text, place):
    file = tmp_path / "recording"
    file.write_text(text)
    with pytest.raises(UnreadableRecording, match=place):
        read_recording(file)


def test_code_is_refused_with_the_command_that_reads_it(tmp_path):
    (tmp_path / "recorded.py").write_text("page.goto('https://a.test/')\n")
    with pytest.raises(UnreadableRecording, match="kb import"):
        read_recording(tmp_path / "recorded.py")


def _steps(folder: Path, *steps: dict[str, Any]) -> Any:
    (imported,) = read_recording(_file(folder, {"title": "t", "steps": list(steps)}))
    return imported.trace


def _click(*selectors: Any) -> dict[str, Any]:
    return {"type": "click", "target": "main", "selectors": list(selectors), "offsetX": 1, "offsetY": 1}


def test_names_without_a_role_and_chains_of_names_are_the_first_choice(tmp_path):
    trace = _steps(
        tmp_path,
        _click(["aria/Save"], ["#save"], ["text/Save"]),
        _click(["aria/Save"], ["form > button.go"]),
        _click(["aria/Next", 'aria/[role="generic"]'], ["div > span"]),
        _click(['aria/Ask[role="dialog"]', 'aria/[role="textbox"]'], ["#c2"]),
        _click(["aria/Export", "aria/Download"], ["#d button"]),
        _click("#plain", "xpath///*[@id='plain']"),
    )  # fmt: skip
    told = [
        [
            (each["type"], each.get("role"), each.get("name") or each.get("value"))
            for each in step.target["strategies"]
        ]
        for step in trace.steps
    ]
    assert told[0][:2] == [("role_name", "button", "Save"), ("role_name", "link", "Save")]
    assert ("id" in told[0][-1], told[0][-2][2]) == (False, "#save")
    assert told[1] == [("role_name", "button", "Save"), ("css", None, "form > button.go")]
    assert told[2][0] == ("role_name", "button", "Next")
    assert told[3] == [("css", None, "#c2")]
    assert told[4][0][2] == "Download"
    assert told[5] == [("css", None, "#plain"), ("xpath", None, "//*[@id='plain']")]
    known = [step.metadata.get("fingerprint", {}).get("name") for step in trace.steps]
    assert known == ["Save", "Save", "Next", None, "Download", None]


def test_letters_are_typed_where_a_change_follows_and_keys_where_none_does(tmp_path):
    field = [["aria/Name"], ["#n"]]
    keys = [{"type": kind, "target": "main", "key": key} for key in "ab" for kind in ("keyDown", "keyUp")]
    change = {"type": "change", "target": "main", "value": "ab", "selectors": field}
    typed = _steps(tmp_path, _click(*field), *keys, change)
    assert [step.action_type for step in typed.steps] == ["click", "fill"]
    game = _steps(tmp_path, {"type": "navigate", "url": URL}, *keys, {"type": "keyDown", "key": " "})
    assert [(step.action_type, (step.args or {}).get("value")) for step in game.steps[1:]] == [
        ("press", "a"), ("press", "b"), ("press", "Space"),
    ]  # fmt: skip


def test_other_tabs_and_pages_that_are_none_are_named_and_descriptions_kept(tmp_path):
    trace = _steps(
        tmp_path,
        _click(["#a"]) | {"description": "open the list"},
        {"type": "navigate", "url": "chrome://new-tab-page/"},
        _click(["#b"]) | {"target": "https://other.test/"},
        {"type": "change", "value": "M", "selectors": [["#DDL_Civility"]]},
    )
    assert [step.action_type for step in trace.steps] == ["click", "select_option"]
    assert trace.steps[0].metadata["said"] == "open the list"
    assert ["chrome://" in trace.metadata["problems"][0], "other.test" in trace.metadata["problems"][1]] == [
        True,
        True,
    ]


def test_the_right_button_is_a_right_click(tmp_path):
    trace = _steps(tmp_path, {**_click(['aria/Row 1[role="row"]']), "button": "secondary"})
    (step,) = trace.steps
    assert (step.action_type, step.metadata["fingerprint"]["name"]) == ("right_click", "Row 1")


@pytest.mark.parametrize(
    "kind",
    ["setViewport", "scroll", "waitForElement", "waitForExpression", "emulateNetworkConditions", "close", "navigate", "click",
     "doubleClick", "hover", "change", "keyDown", "keyUp", "customStep", "somethingNew"],
)  # fmt: skip
def test_every_step_of_a_file_is_imported_named_or_needs_no_step(tmp_path, kind):
    unneeded = {
        "setViewport",
        "scroll",
        "waitForElement",
        "waitForExpression",
        "emulateNetworkConditions",
        "close",
        "keyUp",
    }
    trace = _steps(
        tmp_path, {"type": kind, "url": "https://a.test/", "value": "x", "key": "Enter", **_target("#a")}
    )
    assert bool(trace.steps) + len(trace.metadata.get("problems", ())) == (0 if kind in unneeded else 1)


def _target(css: str) -> dict[str, Any]:
    return {"target": "main", "selectors": [[css]], "offsetX": 1, "offsetY": 1}
