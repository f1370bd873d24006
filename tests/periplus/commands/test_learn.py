"""`periplus learn`: what a person reads, what is written and proposed, and how it ends."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.session_writer import write_session
from kb_schema.snapshot_folder import write_snapshot
from loaders.files.folder_reader import read_knowledge_folder
from periplus.cli import main

BASE = "https://shop.example"
NAV = "<nav aria-label=Main><a href=/>Shop</a></nav>"


def html(body: str) -> str:
    return f"<html><body>{NAV}<main>{body}</main></body></html>"


def listed(number: int) -> str:
    rows = "".join(f"<tr><td><a href=/goods/{n}>Thing {n}{number}</a></td></tr>" for n in range(number))
    return html(f"<h1>Goods</h1><button>Add goods</button><table><tr><th>Name</th></tr>{rows}</table>")


def shown(number: int) -> str:
    return html(
        f"<h1>Thing {number}</h1><label>Price <input name=price value={number}></label><button>Keep</button>"
    )


def asked(number: int) -> str:
    return html(f"<h1>Really remove Thing {number}?</h1><button>Remove it</button>")


@pytest.fixture
def pages(tmp_path):
    folder = tmp_path / "pages"
    labels: dict[str, str | None] = {}
    for number in (1, 2, 3):
        for name, screen, path, body in (
            (f"list/{number}", "goods_list", f"/goods?page={number}", listed(number)),
            (f"one{number}", "goods_detail", f"/goods/{number}", shown(number)),
            (f"ask{number}", None, f"/goods/{number}", asked(number)),
        ):
            write_snapshot(PageSnapshot(url=f"{BASE}{path}", title="Shop", html=body), folder / name)
            labels[name] = screen
    write_snapshot(
        PageSnapshot(url=f"{BASE}/left", title="Shop", html=html("<h1>Left</h1>")), folder / "left"
    )
    (folder / "labels.json").write_text(json.dumps(labels))
    return folder


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


@pytest.mark.always
def test_sorted_pages_become_a_knowledge_base_that_knows_them(periplus, pages, tmp_path):
    code, told, _ = periplus(
        "learn", "--snapshots", pages, "--labels", pages / "labels.json", "--website", "shop",
        "--out", tmp_path / "kb",
    )  # fmt: skip
    assert code == 0, told
    assert "2 screens; 9 of 9 pages identified correctly" in told
    assert "3 of 3" in told
    knowledge, problems = read_knowledge_folder(tmp_path / "kb")
    assert not problems
    assert set(knowledge.screens) == {"goods_list", "goods_detail"}
    assert knowledge.screens["goods_list"].metadata["learned"].startswith("right about 3 pages")
    code, told, _ = periplus(
        "kb", "check", tmp_path / "kb", "--snapshots", pages, "--labels", pages / "labels.json"
    )
    assert code == 0, told
    assert "9 of 9 labelled snapshots right" in told


def test_what_somebody_added_to_a_learned_folder_is_not_written_over(periplus, pages, tmp_path):
    asked_for = ("learn", "--snapshots", pages, "--labels", pages / "labels.json", "--out", tmp_path / "kb")
    assert periplus(*asked_for)[0] == 0
    assert periplus(*asked_for)[0] == 0, "what was learned before gives way"
    file = tmp_path / "kb/screens/goods_list.yaml"
    file.write_text(file.read_text() + "ui_elements: [{element_id: add, type: button, selector: '#add'}]\n")
    code, _, err = periplus(*asked_for)
    assert (code, "contains content that was not learned: screen goods_list" in err) == (2, True)
    assert "#add" in file.read_text()
    code, _, err = periplus(*asked_for, "--website", "another")
    assert code == 2


def test_as_json_it_tells_the_signatures_and_what_they_rest_on(periplus, pages):
    code, told, _ = periplus("learn", "--snapshots", pages, "--labels", pages / "labels.json", "--json")
    screen = json.loads(told)["screens"]["goods_detail"]
    assert (code, screen["held_out"], screen["missed"], screen["taken_in"]) == (0, 3, 0, 0)
    assert screen["url_patterns"] == ["^/goods/[^/?#]+/?(?:[?#].*)?$"]


def test_pages_of_screens_that_were_not_learned_are_not_called_right(periplus, pages, tmp_path):
    write_snapshot(PageSnapshot(url=f"{BASE}/goods/1", title="Shop", html=shown(1)), pages / "other")
    labels = json.loads((pages / "labels.json").read_text()) | {"other": None}
    (tmp_path / "odd.json").write_text(json.dumps(labels))
    code, told, _ = periplus("learn", "--snapshots", pages, "--labels", tmp_path / "odd.json")
    assert (code, "not learned goods_detail" in told) == (0, True)
    assert (
        "1 screen; 7 of 7 pages identified correctly with all signatures; 3 pages belong to screens that were not learned"
        in told
    )


def test_screens_that_nothing_tells_apart_are_learned_as_one_with_both_names(periplus, pages, tmp_path):
    labels = json.loads((pages / "labels.json").read_text())
    for number in (1, 2, 3):
        name = f"same{number}"
        write_snapshot(
            PageSnapshot(url=f"{BASE}/goods/{number + 3}", title="Shop", html=shown(number + 3)), pages / name
        )
        labels[name] = "goods_price"
    (pages / "labels.json").write_text(json.dumps(labels))
    given = ("--snapshots", pages, "--labels", pages / "labels.json")
    code, told, _ = periplus("learn", *given, "--website", "shop", "--out", tmp_path / "kb")
    assert code == 0, told
    assert "one screen goods_detail_or_goods_price: nothing tells goods_detail and goods_price apart" in told
    knowledge, _ = read_knowledge_folder(tmp_path / "kb")
    joint = knowledge.screens["goods_detail_or_goods_price"]
    assert joint.ambiguous_of == ("goods_detail", "goods_price")
    assert joint.name == "Goods detail or Goods price"
    assert knowledge.screens.keys() == {"goods_list", "goods_detail_or_goods_price"}
    code, told, _ = periplus("kb", "check", tmp_path / "kb", *given, "--json")
    report = json.loads(told)
    outcomes = {each["name"]: each["outcome"] for each in report["results"]}
    assert {outcomes[name] for name in ("one1", "one2", "same1", "same2")} == {"ambiguous"}
    assert outcomes["list/1"] == "right"
    assert periplus("learn", *given, "--website", "shop", "--out", tmp_path / "kb")[0] == 0, (
        "it may be written again"
    )
    proposed = json.loads(periplus("learn", *given, "--json")[1])
    assert proposed["screens"]["goods_detail_or_goods_price"]["ambiguous_of"] == [
        "goods_detail",
        "goods_price",
    ]


def test_what_is_new_is_proposed_for_a_loaded_knowledge_base(periplus, pages, tmp_path):
    small = {"list/1": "goods_list", "list/2": "goods_list"}
    (tmp_path / "small.json").write_text(json.dumps(small))
    asked_for = ("learn", "--snapshots", pages, "--website", "shop", "--labels")
    assert periplus(*asked_for, tmp_path / "small.json", "--out", tmp_path / "kb")[0] == 0
    assert periplus("kb", "load", tmp_path / "kb")[0] == 0
    code, told, _ = periplus(*asked_for, pages / "labels.json", "--propose")
    assert code == 0, told
    assert "proposed screen goods_detail" in told
    assert "goods_list (" not in told
    code, told, _ = periplus("kb", "proposals", "list", "--json")
    assert "goods_detail" in [each["change"]["screen"]["screen_id"] for each in json.loads(told)]


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ((), "no input to learn from"),
        (("--snapshots", "DIR"), "no input to learn from"),
        (("--snapshots", "nowhere", "--labels", "FILE"), "there is no such folder"),
        (("--snapshots", "DIR", "--labels", "nowhere.json"), "cannot be read"),
        (("--snapshots", "DIR", "--labels", "BAD"), "'two words' is not a valid screen id"),
        (("--snapshots", "DIR", "--labels", "LOST"), "no snapshot 'lost'"),
        (("--snapshots", "DIR", "--labels", "EMPTY"), "contains no screen id"),
        (("--snapshots", "DIR", "--labels", "FILE", "--base-url", "shop"), "is not a web address"),
        (("--snapshots", "DIR", "--labels", "FILE", "--out", "DIR"), "is not an export"),
        (("--snapshots", "DIR", "--labels", "FILE", "--out", "X", "--propose"), "choose one"),
        (("some", "--snapshots", "DIR"), "SESSIONS cannot be combined"),
        (("nowhere",), "contains no trace"),
    ],
)
def test_bad_input_is_one_clear_error(periplus, pages, tmp_path, args, reason):
    for name, data in (("bad", {"one1": "two words"}), ("lost", {"lost": "x"}), ("empty", {"one1": None})):
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    given = {"DIR": pages, "FILE": pages / "labels.json", "BAD": tmp_path / "bad.json",
             "LOST": tmp_path / "lost.json", "EMPTY": tmp_path / "empty.json"}  # fmt: skip
    code, _, told = periplus("learn", *(given.get(each, each) for each in args))
    assert code == 2
    assert reason in " ".join(told.split())


# -- sessions --------------------------------------------------------------------------------------------

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def session(folder: Path, name: str, number: int) -> None:
    """From the list to one of the goods, a look at it, and its removal begun."""
    seen = [
        (f"{BASE}/goods?page={number}", listed(number)),
        (f"{BASE}/goods/{number}", shown(number)),
        (f"{BASE}/goods/{number}/remove", asked(number)),
    ]
    clicked = (f"a[href='/goods/{number}']", "button", "button")
    steps = tuple(
        TraceStep(
            action_type="click",
            target={"strategies": [{"type": "css", "value": target}]},
            result=TraceActionResult(success=True),
            timestamp=START + timedelta(seconds=at),
            html_before=body,
            html_after=seen[at + 1][1] if at + 1 < len(seen) else body,
            source_url=url,
        )
        for at, ((url, body), target) in enumerate(zip(seen, clicked, strict=True))
    )
    write_session(ExecutionTrace(trace_id=name, steps=steps, task_description="remove"), folder / name)
    log = next((folder / name).rglob("session.jsonl"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for at, line in enumerate(lines):
        line["result"]["duration_ms"] = 100.0 * number + at
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def loaded(periplus, pages, tmp_path):
    """A shop whose list and goods are known, and sessions that also removed something."""
    known = {f"list/{n}": "goods_list" for n in (1, 2)} | {f"one{n}": "goods_detail" for n in (1, 2, 3)}
    (tmp_path / "known.json").write_text(json.dumps(known))
    assert periplus(
        "learn", "--snapshots", pages, "--labels", tmp_path / "known.json", "--website", "shop",
        "--out", tmp_path / "kb",
    )[0] == 0  # fmt: skip
    assert periplus("kb", "load", tmp_path / "kb")[0] == 0
    for number in (1, 2, 3):
        session(tmp_path / "sessions", f"run-{number}", number)
    return tmp_path / "sessions"


def test_sessions_show_screens_and_measured_ways_that_the_knowledge_does_not_have(periplus, loaded):
    code, told, _ = periplus("learn", loaded, "--json")
    found = json.loads(told)
    assert code == 0, told
    assert (found["pages"], found["known"], found["refused"]) == (9, 6, [])
    about = [each["change"] for each in found["proposed"]]
    assert len(about) == 2
    assert any(each.startswith("screen ") and "remove" in each for each in about)
    assert all(each["proposal_id"] and not each["reason"] for each in found["proposed"])
    assert {each["runs"] for each in found["proposed"]} == {3}
    code, told, _ = periplus("kb", "proposals", "list", "--json")
    ways = [each for each in json.loads(told) if each["change"]["type"] == "transition"]
    measured = {each["change"]["transition"]["duration"]["avg_duration_ms"] for each in ways}
    assert measured == {201.0}, "that of the rows is another control each time"


def test_what_was_proposed_is_told_once_and_again_only_with_why_not(periplus, loaded):
    code, told, _ = periplus("learn", loaded)
    assert (code, told.count("proposed screen"), told.count("supported by 3 runs")) == (0, 1, 2)
    code, told, _ = periplus("learn", loaded)
    assert (code, told.count("not proposed screen"), "had its say" in told) == (1, 1, True)
    listed = json.loads(periplus("kb", "proposals", "list", "--json")[1])
    (screen,) = [each["proposal_id"] for each in listed if each["change"]["type"] == "screen"]
    assert periplus("kb", "proposals", "reject", screen)[0] == 0
    (loaded / "run-1").rename(loaded / "again-1")  # another session that shows the same
    manifest = loaded / "again-1/manifest.json"
    manifest.write_text(manifest.read_text().replace("run-1", "again-1"))
    told = periplus("learn", loaded)[1]
    assert "not proposed screen" in told
    assert "a person rejected it" in told


def test_a_way_that_took_another_time_is_the_same_way(periplus, loaded):
    for number in (1, 2):
        session(loaded.parent / "later", f"later-{number}", number)
    assert periplus("learn", loaded)[0] == 0
    periplus("learn", loaded, loaded.parent / "later")
    listed = json.loads(periplus("kb", "proposals", "list", "--json")[1])
    ways = [len(each["runs"]) for each in listed if each["change"]["type"] == "transition"]
    assert 5 in ways, "those that removed something"


def test_a_session_that_is_named_twice_speaks_once(periplus, loaded):
    code, told, _ = periplus("learn", loaded, loaded / "run-1", "--json")
    assert code == 0
    assert {each["runs"] for each in json.loads(told)["proposed"]} == {3}


def test_sessions_of_any_name_and_pages_of_any_address_are_learned_from(periplus, loaded):
    session(loaded, "my session (1)", 1)
    for log in loaded.rglob("session.jsonl"):
        log.write_text(log.read_text().replace("/remove", f"/remove?token={'x' * 9_000}"))
    code, told, _ = periplus("learn", loaded, "--json")
    assert code == 0, told
    listed = json.loads(periplus("kb", "proposals", "list", "--json")[1])
    runs = [run for each in listed for run in each["runs"] if run["run_id"].startswith("my-session")]
    assert runs
    assert all(len(seen["url"]) < 100 for run in runs for seen in run["seen"])


def test_sessions_that_show_nothing_new_say_so(periplus, pages, tmp_path):
    known = json.loads((pages / "labels.json").read_text())
    for number in (1, 2, 3):
        known[f"ask{number}"] = "goods_removal"
    (tmp_path / "known.json").write_text(json.dumps(known))
    periplus("learn", "--snapshots", pages, "--labels", tmp_path / "known.json", "--website", "shop",
             "--out", tmp_path / "kb")  # fmt: skip
    assert periplus("kb", "load", tmp_path / "kb")[0] == 0
    step = TraceStep(action_type="click", html_before=shown(1), source_url=f"{BASE}/goods/1")
    write_session(ExecutionTrace(trace_id="one", steps=(step,)), tmp_path / "sessions/one")
    code, told, _ = periplus("learn", tmp_path / "sessions")
    assert (code, "nothing to propose" in told) == (1, True)


def test_the_same_pages_speak_once_and_others_speak_again(periplus, pages, tmp_path):
    (tmp_path / "small.json").write_text(json.dumps({"list/1": "goods_list", "list/2": "goods_list"}))
    asked_for = ("learn", "--snapshots", pages, "--website", "shop", "--labels")
    periplus(*asked_for, tmp_path / "small.json", "--out", tmp_path / "kb")
    assert periplus("kb", "load", tmp_path / "kb")[0] == 0
    for _ in range(2):
        assert periplus(*asked_for, pages / "labels.json", "--propose")[0] == 0
    fewer = {
        key: each for key, each in json.loads((pages / "labels.json").read_text()).items() if key != "ask3"
    }
    (tmp_path / "fewer.json").write_text(json.dumps(fewer))
    assert periplus(*asked_for, tmp_path / "fewer.json", "--propose")[0] == 0
    listed = json.loads(periplus("kb", "proposals", "list", "--json")[1])
    runs = [run["run_id"] for each in listed for run in each["runs"]]
    assert len(runs) == len(set(runs)) == 2
