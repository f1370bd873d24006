"""Projects of Selenium IDE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kb_schema.action_calls import DropPlace
from loaders.recordings.formats import read_recording
from loaders.recordings.imported_traces import LEFT_OUT, UnreadableRecording
from loaders.recordings.trace_builder import LONGEST_REMARK


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
    assert told == [
        ("id", "email"),
        ("xpath", "(//*[@id='email'])[1]"),
        ("css", '[name="mail"]'),
        ("css", "#email"),
    ]
    assert [each["fallback"] for each in trace.steps[1].target["strategies"]] == [False, False, True, True]
    assert trace.metadata["expected"] == [{"type": "dom_contains", "value": "Done", "selector": "h1"}]
    assert trace.steps[8].target["frame"] == "iframe"
    assert "frame" not in trace.steps[9].target


def test_a_drag_onto_an_element_is_imported_and_one_onto_what_cannot_be_read_is_named(tmp_path):
    commands = [
        _command("open", "/board"),
        _command("dragAndDropToObject", "id=card-1", "css=#done"),
        _command("dragAndDropToObject", "id=card-2", "somewhere"),
    ]
    (imported,) = read_recording(_project(tmp_path, ("Move", commands)))
    _, drag = imported.trace.steps
    assert (drag.action_type, drag.target["strategies"][0]["value"]) == ("drag", "card-1")
    assert DropPlace.model_validate(drag.args["drop"]).target.strategies[0].value == "#done"
    (problem,) = imported.trace.metadata["problems"]
    assert "'somewhere', onto which it drags, cannot be read; left out" in problem


def _steps(file: Path) -> list[tuple[str, Any]]:
    (imported,) = read_recording(file)
    return [(step.action_type, (step.args or {}).get("value")) for step in imported.trace.steps]


def test_control_flow_that_the_file_decides_is_followed(tmp_path):
    commands = [
        _command("executeScript", "return 1", "n"),
        _command("store", "Ann", "who"),
        _command("storeJson", '["tea", "milk"]', "goods"),
        _command("while", "${n} < 3"),
        _command("type", "id=count", "${n}"),
        _command("executeScript", "return ${n} + 1", "n"),
        _command("end"),
        _command("forEach", "goods", "one"),
        _command("type", "id=good", "${one}"),
        _command("end"),
        _command("times", "2"),
        _command("click", "id=more"),
        _command("end"),
        _command("if", '"${who}" === "Bob" || ${n} > 5'),
        _command("type", "id=who", "Bob"),
        _command("elseIf", "'${who}' == 'Ann' && !false"),
        _command("type", "id=who", "${who}"),
        _command("else"),
        _command("type", "id=who", "nobody"),
        _command("end"),
        _command("do"),
        _command("executeScript", "return ${n} - 1", "n"),
        _command("check", "id=box"),
        _command("repeatIf", "${n} > 1"),
    ]
    file = _project(tmp_path, ("t", commands))
    assert _steps(file) == [
        ("fill", "1"), ("fill", "2"), ("fill", "tea"), ("fill", "milk"), ("click", None), ("click", None),
        ("fill", "Ann"), ("check", None), ("check", None),
    ]  # fmt: skip
    (imported,) = read_recording(file)
    assert "problems" not in imported.trace.metadata
    assert imported.trace.input_data == {"n": "2", "one": "milk", "who": "Ann"}


def test_control_flow_that_only_the_page_decides_is_named_with_its_line(tmp_path):
    commands = [
        _command("click", "id=a"),
        _command("storeText", "css=h1", "title"),
        _command("if", "'${title}' == 'Shop'"),
        _command("click", "id=b"),
        _command("click", "id=c"),
        _command("end"),
        _command("times", "many"),
        _command("click", "id=d"),
        _command("end"),
        _command("forEach", "unknown", "one"),
        _command("click", "id=e"),
        _command("end"),
        _command("click", "id=f"),
    ]
    file = _project(tmp_path, ("t", commands))
    file.write_text(json.dumps(json.loads(file.read_text()), indent=0))
    lines = file.read_text().splitlines()
    (imported,) = read_recording(file)
    assert [step.target["strategies"][0]["value"] for step in imported.trace.steps] == ["a", "f"]
    told = imported.trace.metadata["problems"]
    for problem, name in zip(told, ("storeText", "if", "times", "forEach"), strict=True):
        line = int(problem.split(",")[0].removeprefix("line "))
        inside = "".join(lines[line - 1 : line + 6])  # from the brace that begins the command
        assert f'"command": "{name}"' in inside
    assert "its 2 commands left out" in told[1]


def test_endless_and_nested_loops_and_very_long_targets_end(tmp_path):
    nested = [*[_command("times", "50")] * 6, *[_command("end")] * 6]
    grows = [_command("store", "x", "t"), _command("while", "true"), _command("executeScript", "return ${t} + ${t}", "t"),
             _command("end")]  # fmt: skip
    far = [_command("times", "1e999"), _command("click", "id=far"), _command("end")]
    long = [
        _command("click", "id=" + "y" * 5_000),
        _command("click", f"id={'z' * 3_000}"),
        _command("click", "id=last"),
    ]
    (imported,) = read_recording(_project(tmp_path, ("t", [*far, *grows, *long, *nested])))
    values = [step.target["strategies"][0]["value"][:4] for step in imported.trace.steps]
    assert values == ["zzzz", "last"]
    assert any("more than 50 rounds" in problem for problem in imported.trace.metadata["problems"])


def test_a_test_that_another_one_runs_is_read_in_its_place(tmp_path):
    login = [_command("open", "/login"), _command("type", "id=user", "ann")]
    main = [
        _command("run", "login"),
        _command("click", "id=go"),
        _command("run", "nowhere"),
        _command("run", "main"),
    ]
    one, two = read_recording(_project(tmp_path, ("login", login), ("main", main)))
    assert [step.action_type for step in two.trace.steps[:3]] == ["navigate", "fill", "click"]
    assert [step.action_type for step in one.trace.steps] == ["navigate", "fill"]
    assert "'nowhere'" in two.trace.metadata["problems"][0]


def test_checks_at_the_end_are_what_a_run_must_show(tmp_path):
    commands = [
        _command("open", "/"),
        _command("assertTitle", "Start"),
        _command("click", "id=save"),
        _command("verifyText", "css=.note", "Saved"),
        _command("assertElementPresent", "id=again"),
        _command("assertTitle", "Done"),
        _command("assertAlert", "Hello"),
    ]
    (imported,) = read_recording(_project(tmp_path, ("t", commands)))
    said = imported.trace.metadata
    assert said["expected"] == [
        {"type": "dom_contains", "value": "Saved", "selector": ".note"},
        {
            "type": "element_visible",
            "element": {"strategies": [{"type": "id", "value": "again", "meta": {"recorded": 0}}]},
        },
        {"type": "title_contains", "value": "Done"},
    ]
    assert "problems" not in said
    assert [note.split(": ")[1] for note in said["notes"]] == [
        "assertAlert is not imported",
        "1 check before the last action",
    ]


def test_words_of_alternative_targets_and_comments_describe_the_element(tmp_path):
    save = _command(
        "click",
        "css=.btn",
        targets=[["css=.btn", "css:finder"], ["xpath=//button[contains(.,'Save')]", "xpath:innerText"]],
    )
    sign_in = _command(
        "click", "css=input:nth-child(7)", targets=[["xpath=//input[@value='Sign in']", "xpath:attributes"]]
    )
    told = _command("click", "id=x", targets=[["xpath=//div[3]/span", "xpath:position"]]) | {
        "comment": "open the menu"
    }
    (imported,) = read_recording(_project(tmp_path, ("t", [save, sign_in, told, _command("click", "linkText=Help")])))  # fmt: skip
    known = [step.metadata.get("fingerprint", {}) for step in imported.trace.steps]
    assert [(each.get("role"), each.get("name")) for each in known] == [
        ("button", "Save"), ("button", "Sign in"), (None, None), ("link", "Help"),
    ]  # fmt: skip
    assert [step.metadata.get("said") for step in imported.trace.steps] == [
        "button 'Save'", "button 'Sign in'", "open the menu", "link 'Help'",
    ]  # fmt: skip
    places = [each["value"] for each in imported.trace.steps[2].target["strategies"]]
    assert "//div[3]/span" not in places, "a mere place is no alternative where nothing tells the element"


def test_commands_that_cannot_be_read_are_told_with_their_place(tmp_path):
    commands = [
        _command("click", "id=a"), _command("executeScript", "return title", "x"), _command("type", "id=b", "${x}"),
        _command("click", "dom=document.links[0]"), _command("select", "id=c", "index=2"),
        _command("selectWindow", "handle=${root}"), _command("selectFrame", "//iframe[2]"), _command("click", "id=in"),
    ]  # fmt: skip
    (imported,) = read_recording(_project(tmp_path, ("t", commands)))
    assert [step.target["strategies"][0]["value"] for step in imported.trace.steps] == ["a"]
    told = [problem.split(": ")[0] for problem in imported.trace.metadata["problems"]]
    assert told == [f"line 1, tests[0].commands[{at}]" for at in (1, 2, 3, 4, 5, 6)]


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
    beside = [
        {key: value for key, value in step.metadata.items() if key not in ("fingerprint", "said")}
        for step in imported.trace.steps[1:]
    ]
    assert [(step.args, each) for step, each in zip(imported.trace.steps[1:], beside, strict=True)] == [
        (None, {"opens_tab": 1}),
        (None, {"tab": 1}),
        ({"on_dialog": "dismiss"}, {}),
        ({"on_dialog": {"accept": True, "text": "Ann"}}, {}),
        ({"on_dialog": "accept"}, {}),
    ]


def test_what_the_pointer_only_comes_by_is_no_step(tmp_path):
    commands = [
        _command("open", "/"),
        _command("mouseOver", "css=.card"),
        _command("mouseOut", "css=.card"),
        _command("mouseOver", "css=.menu"),
        _command("runScript", "window.scrollTo(0,300)"),
        _command("click", "css=.menu .item"),
        _command("mouseOver", "css=.badge"),
        _command("mouseOver", "id=tip"),
        _command("assertText", "css=.tip", "New"),
        _command("mouseOver", "css=.footer"),
    ]
    (imported,) = read_recording(_project(tmp_path, ("Point", commands)))
    said = [
        (step.action_type, step.target and step.target["strategies"][0]["value"])
        for step in imported.trace.steps
    ]
    assert said == [
        ("navigate", None),
        ("hover", ".menu"),
        ("click", ".menu .item"),
        ("hover", "tip"),
    ]
    assert "problems" not in imported.trace.metadata


def test_a_slow_press_is_its_click_a_drag_is_a_drag_and_a_pull_in_pixels_is_named(tmp_path):
    commands = [
        _command("open", "/"),
        _command("mouseDownAt", "id=sort", "12.5,8"),
        _command("mouseMoveAt", "id=sort", "13,8"),
        _command("mouseUpAt", "id=sort", "13,8"),
        _command("click", "id=sort"),
        _command("mouseDownAt", "id=card", "12,8"),
        _command("mouseMoveAt", "css=.done", "40,9"),
        _command("mouseUpAt", "css=.done", "40,9"),
        _command("mouseDownAt", "css=.thumb", "4,8"),
        _command("mouseMoveAt", "css=.thumb", "304,8"),
        _command("mouseUpAt", "css=.thumb", "304,8"),
    ]
    (imported,) = read_recording(_project(tmp_path, ("Pull", commands)))
    assert [step.action_type for step in imported.trace.steps] == ["navigate", "click", "drag"]
    drag = imported.trace.steps[2]
    assert drag.target["strategies"][0]["value"] == "card"
    assert DropPlace.model_validate(drag.args["drop"]).target.strategies[0].value == ".done"
    (problem,) = imported.trace.metadata["problems"]
    assert "commands[10]" in problem
    assert "a pull within 'css=.thumb' is a distance in pixels; left out" in problem


def test_what_was_written_into_an_editor_is_its_text(tmp_path):
    commands = [
        _command("open", "/"),
        _command("editContent", "id=note", "<p>Milk &amp; tea</p><p>Bread</p>"),
        _command("editContent", "id=note", "<p>Milk <b>now</b></p>"),
    ]
    (imported,) = read_recording(_project(tmp_path, ("Write", commands)))
    assert [step.args["value"] for step in imported.trace.steps[1:]] == ["Milk & tea\nBread", "Milk now"]
    (note,) = imported.trace.metadata["notes"]
    assert "commands[2]" in note
    assert "without its form" in note


def test_a_file_of_which_only_the_name_is_known_is_an_upload_with_a_note(tmp_path):
    commands = [_command("open", "/"), _command("type", "id=picture", "C:\\fakepath\\harbour.png")]
    (imported,) = read_recording(_project(tmp_path, ("Upload", commands)))
    upload = imported.trace.steps[1]
    assert (upload.action_type, upload.args) == ("upload_file", {"value": "harbour.png"})
    (note,) = imported.trace.metadata["notes"]
    assert "only the name of the file 'harbour.png', not where it is" in note


def test_what_cannot_be_read_is_named_by_its_two_ends_however_long_it_is(tmp_path):
    long = _command("click", "9" * 5_000)
    (shop,) = read_recording(_project(tmp_path, ("Buy", [_command("open", "/"), long])))
    (problem,) = shop.trace.metadata["problems"]
    assert "the locator '999" in problem
    assert problem.endswith("cannot be read; left out")
    assert len(problem) <= LONGEST_REMARK


def test_an_error_names_a_few_of_the_problems_of_a_file_without_a_command(tmp_path):
    tests = [("t" * 5_000, [_command("click", "9" * 5_000)] * 4)] * 3
    with pytest.raises(UnreadableRecording, match=r"; and 10 more$") as refused:
        read_recording(_project(tmp_path, *tests))
    assert len(refused.value.reason) < 2_000
    assert "cannot be read" in refused.value.reason
