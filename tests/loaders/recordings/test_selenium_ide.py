"""Projects of Selenium IDE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loaders.recordings.formats import read_recording
from loaders.recordings.imported_traces import LEFT_OUT, UnreadableRecording


def _command(
    command: str, target: str = "", value: str = "", targets: list[list[str]] | None = None
) -> dict[str, Any]:
    return {
        "id": "1",
        "comment": "",
        "command": command,
        "target": target,
        "targets": targets or [],
        "value": value,
    }


def _project(folder: Path, *tests: tuple[str, list[dict[str, Any]]]) -> Path:
    file = folder / "shop.side"
    told = [
        {"id": str(number), "name": name, "commands": commands}
        for number, (name, commands) in enumerate(tests)
    ]
    project = {"id": "p", "version": "2.0", "name": "shop", "url": "https://shop.test", "tests": told,
               "suites": [], "urls": [], "plugins": []}  # fmt: skip
    file.write_text(json.dumps(project))
    return file


def test_a_test_becomes_a_trace(tmp_path):
    commands = [
        _command("open", "/login"),
        _command("setWindowSize", "1200x800"),
        _command("store", "ada@shop.test", "mail"),
        _command("type", "id=email", "${mail}", [["id=email", "id"], ["name=mail", "name"], ["css=#email", "css:finder"]]),
        _command("type", "name=password", "open sesame"),
        _command("sendKeys", "name=password", "${KEY_ENTER}"),
        _command("sendKeys", "id=search", "tea${KEY_DOWN}"),
        _command("select", "id=size", "label=Large"),
        _command("click", "linkText=Add to cart"),
        _command("selectFrame", "index=0"),
        _command("check", "//input[@name='terms']"),
        _command("selectFrame", "relative=parent"),
        _command("mouseOver", "css=.menu"),
        _command("//click", "id=disabled"),
        _command("assertText", "css=h1", "Done"),
        _command("pause", "250"),
    ]  # fmt: skip
    (imported,) = read_recording(_project(tmp_path, ("Buy tea", commands)))
    trace = imported.trace
    assert (trace.trace_id, trace.task_description) == ("shop-buy-tea", "Buy tea")
    assert "problems" not in trace.metadata
    assert [(step.action_type, step.args) for step in trace.steps] == [
        ("navigate", {"url": "https://shop.test/login"}),
        ("fill", {"value": "ada@shop.test"}),
        ("fill", {"value": LEFT_OUT}),
        ("press", {"value": "Enter"}),
        ("append_text", {"value": "tea"}),
        ("press", {"value": "ArrowDown"}),
        ("select_option", {"value": "Large"}),
        ("click", None),
        ("check", None),
        ("hover", None),
        ("wait", {"duration_ms": 250}),
    ]
    assert imported.secrets == {"open sesame"}
    told = [(each["type"], each["value"]) for each in trace.steps[1].target["strategies"]]
    assert told == [("id", "email"), ("css", '[name="mail"]'), ("css", "#email")]
    assert trace.steps[8].target["frame"] == "iframe"
    assert "frame" not in trace.steps[9].target


def test_a_test_with_control_flow_is_refused_and_the_others_are_read(tmp_path):
    plain = [_command("open", "/"), _command("click", "id=a")]
    file = _project(
        tmp_path, ("loops", [_command("while", "true"), *plain, _command("end")]), ("plain", plain)
    )
    (imported,) = read_recording(file)
    assert imported.trace.trace_id == "shop-plain"
    (told,) = imported.trace.metadata["problems"]
    assert told.startswith("tests[0] 'loops' has control flow (commands[0]: while)")
    with pytest.raises(UnreadableRecording, match="not a single trace"):
        read_recording(_project(tmp_path, ("loops", [_command("if", "x"), *plain])))


def test_commands_that_cannot_be_read_are_told_with_their_place(tmp_path):
    commands = [
        _command("click", "id=a"), _command("executeScript", "return 1", "x"), _command("type", "id=b", "${x}"),
        _command("click", "dom=document.links[0]"), _command("select", "id=c", "index=2"),
        _command("selectWindow", "handle=${root}"), _command("selectFrame", "//iframe[2]"), _command("click", "id=in"),
    ]  # fmt: skip
    (imported,) = read_recording(_project(tmp_path, ("t", commands)))
    assert [step.target["strategies"][0]["value"] for step in imported.trace.steps] == ["a"]
    told = [problem.split(": ")[0] for problem in imported.trace.metadata["problems"]]
    assert told == [f"tests[0].commands[{at}]" for at in (1, 2, 3, 4, 5, 6)]


def test_windows_are_tabs_and_answers_belong_to_the_steps_that_led_to_the_questions(tmp_path):
    opens = {"opensWindow": True, "windowHandleName": "win1", "windowTimeout": 2000}
    commands = [
        _command("open", "/"),
        _command("click", "linkText=Help") | opens,
        _command("storeWindowHandle", "root"),
        _command("selectWindow", "handle=${win1}"),
        _command("click", "id=read"),
        _command("close"),
        _command("selectWindow", "handle=${root}"),
        _command("runScript", "window.scrollTo(0,631.2)"),
        _command("chooseCancelOnNextConfirmation"),
        _command("click", "id=delete"),
        _command("assertConfirmation", "Delete it?"),
        _command("webdriverChooseCancelOnVisibleConfirmation"),
        _command("store", "Ann", "who"),
        _command("answerOnNextPrompt", "${who}"),
        _command("click", "id=rename"),
        _command("click", "id=leave"),
        _command("webdriverChooseOkOnVisibleConfirmation"),
    ]
    (imported,) = read_recording(_project(tmp_path, ("t", commands)))
    assert "problems" not in imported.trace.metadata
    assert [(step.args, step.metadata) for step in imported.trace.steps[1:]] == [
        (None, {"opens_tab": 1}),
        (None, {"tab": 1}),
        ({"on_dialog": "dismiss"}, {}),
        ({"on_dialog": {"accept": True, "text": "Ann"}}, {}),
        ({"on_dialog": "accept"}, {}),
    ]
