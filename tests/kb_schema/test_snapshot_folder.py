"""Snapshots on disk: what is written is read back, and what is wrong with a folder is told at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb_schema import KnowledgeError
from kb_schema.page_snapshots import PageSnapshot, Viewport
from kb_schema.snapshot_folder import list_snapshots, read_labels, write_snapshot

PAGE = PageSnapshot(url="https://x.example/a", title="A", html="<h1>A</h1>")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def problems_of(call, *args) -> list[tuple[str | None, str, str | None]]:
    with pytest.raises(KnowledgeError) as refused:
        call(*args)
    return [(problem.source, problem.message, problem.fix) for problem in refused.value.problems]


def put(folder, **files: object):
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    html=TEXT,
    title=TEXT,
    text=st.none() | TEXT,
    annotated=st.booleans(),
    viewport=st.none() | st.builds(Viewport, width=st.integers(1, 9_999), height=st.integers(1, 9_999)),
)
def test_what_is_written_is_read_back(tmp_path_factory, html, title, text, annotated, viewport):
    snapshot = PageSnapshot(
        url="https://x.example/ü?q=1",
        title=title,
        html=html.lstrip("\ufeff"),
        text=text,
        annotated=annotated,
        viewport=viewport,
        captured_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    folder = tmp_path_factory.mktemp("pages")
    write_snapshot(snapshot, folder / "v1" / "one.two")
    (stored,) = list_snapshots(folder)
    assert stored.name == "v1/one.two"
    assert stored.facts.html == ""
    assert stored.read() == snapshot


def test_a_name_may_be_given_with_its_suffix(tmp_path):
    for name in ("a", "b.html", "c.json", "d.v2"):
        write_snapshot(PAGE, tmp_path / name)
    assert [each.name for each in list_snapshots(tmp_path)] == ["a", "b", "c", "d.v2"]


def test_foreign_snapshots_need_no_more_than_a_url(tmp_path):
    put(tmp_path, a_html="<h1>A</h1>", a_json={"url": "https://x.example/"})
    (stored,) = list_snapshots(tmp_path)
    assert stored.read() == PageSnapshot(url="https://x.example/", html="<h1>A</h1>")


def test_everything_wrong_with_a_folder_is_told_at_once(tmp_path):
    put(
        tmp_path,
        alone_html="<p>",
        broken_html="<p>",
        broken_json='{"url": "x",\n "title" }',
        list_html="<p>",
        list_json=[],
        odd_html="<p>",
        odd_json={"url": "x", "titel": "X"},
        double_html="<p>",
        double_json='{"url": "x", "url": "y"}',
        inside_html="<p>",
        inside_json={"url": "x", "html": "<p>"},
        address_html="<p>",
        address_json={"url": "http://["},
        pageless_json={"url": "x", "title": "X"},
        labels_json={"alone": "a"},
    )
    told = {source: (message, fix) for source, message, fix in problems_of(list_snapshots, tmp_path)}
    assert set(told) == {
        f"{name}.json"
        for name in ("alone", "broken", "list", "odd", "double", "inside", "address", "pageless")
    }
    assert told["alone.json"][0] == "alone.html is here without it"
    assert "line 2, column 10" in told["broken.json"][0]
    assert "one JSON object" in told["list.json"][0]
    assert told["odd.json"][0] == "unknown field 'titel'"
    assert told["address.json"] == ("'http://[' is no URL: Invalid IPv6 URL", "write the page's address")
    assert "twice" in told["double.json"][0]
    assert told["inside.json"][1] == "move `html` to inside.html"
    assert told["pageless.json"][0] == "there is no pageless.html"


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda folder: folder.rmdir(), "no such folder"),
        (lambda folder: None, "holds no snapshot"),
        (lambda folder: (folder.rmdir(), folder.write_text("x")), "is not a folder"),
    ],
)
def test_a_folder_that_is_none_is_refused(tmp_path, prepare, message):
    folder = tmp_path / "pages"
    folder.mkdir()
    prepare(folder)
    ((_, told, fix),) = problems_of(list_snapshots, folder)
    assert message in told
    assert fix


def test_a_page_that_is_no_text_is_refused_when_it_is_read(tmp_path):
    put(tmp_path, a_json={"url": "x"})
    (tmp_path / "a.html").write_bytes(b"<p>\xff")
    (stored,) = list_snapshots(tmp_path)
    assert problems_of(stored.read) == [("a.html", "is not UTF-8 text (byte 3)", "save it as UTF-8")]


def test_labels_name_snapshots_and_screens(tmp_path):
    put(tmp_path, labels_json={"a": "home", "b": None})
    labels = read_labels(tmp_path / "labels.json", {"a", "b", "c"}, {"home"})
    assert labels == {"a": "home", "b": None}


def test_every_wrong_label_is_told_with_what_may_be_meant(tmp_path):
    put(tmp_path, labels_json={"hme": "home", "b": "hoome", "c": 7, "d": "elsewhere"})
    told = problems_of(read_labels, tmp_path / "labels.json", {"home", "b", "c", "d"}, {"home"})
    assert [message for _, message, _ in told] == [
        "no snapshot 'hme'",
        "no screen 'hoome'",
        "a label is the id of a screen",
        "no screen 'elsewhere'",
    ]
    assert [fix for _, _, fix in told][:2] == ['did you mean "home"?', 'did you mean "home"?']


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not JSON"),
        ("[]", "one JSON object"),
        ('{"a": "home", "a": null}', "twice"),
        ("[" * 200_000, "nested too deep"),
        (None, "cannot be read"),
    ],
)
def test_labels_that_cannot_be_read_are_refused(tmp_path, content, message):
    file = tmp_path / "labels.json"
    if content is not None:
        file.write_text(content)
    ((source, told, fix),) = problems_of(read_labels, file, {"a"}, {"home"})
    assert source == str(file)
    assert message in told
    assert fix
