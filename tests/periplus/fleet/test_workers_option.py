"""What `--workers` and a file of rows may say."""

from __future__ import annotations

import pytest

from periplus.errors import UserError
from periplus.fleet.fleet_setup import check_folder_mark, choose_store_addresses, write_folder_mark
from periplus.fleet.input_rows import read_input_rows
from periplus.fleet.workers_option import WorkerSelection, parse_workers


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1", WorkerSelection("contexts", 1)),
        ("64", WorkerSelection("contexts", 64)),
        ("processes:4", WorkerSelection("processes", 4)),
        ("tcp://10.0.0.5:8786", WorkerSelection("cluster", address="tcp://10.0.0.5:8786")),
        ("tls://scheduler.example:8786/", WorkerSelection("cluster", address="tls://scheduler.example:8786")),
        ("tcp://[::1]:8786", WorkerSelection("cluster", address="tcp://[::1]:8786")),
    ],
)
def test_workers_are_a_number_processes_or_an_address(text, meant):
    assert parse_workers(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "65", "-1", "2.5", "two", "٣", "99999999999999999999", "processes:", "processes:0", "processes:x",
        "tcp://host", "tcp://:8786", "tcp://host:port", "tcp://host:99999", "tcp://me:secret@host:8786",
        "tcp://host:8786/path", "tcp://host:8786?x=1", "http://host:8786",
    ],
)  # fmt: skip
def test_whatever_else_workers_says_is_refused_with_what_it_may_say(text):
    with pytest.raises(UserError, match="a scheduler's address"):
        parse_workers(text)


def test_workers_elsewhere_need_stores_that_they_can_reach(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("PERIPLUS_MONGODB_URL", raising=False)
    elsewhere = parse_workers("tcp://10.0.0.5:8786")
    with pytest.raises(UserError, match="cannot reach the embedded store") as told:
        choose_store_addresses(elsewhere)
    assert "--mongodb-url" in (told.value.fix or "")
    shelf = choose_store_addresses(elsewhere, "mongodb://me:hidden-word@store.example/kb")
    assert "hidden-word" not in repr(shelf)
    assert choose_store_addresses(parse_workers("processes:2")).data_dir == str(tmp_path)


def test_a_folder_that_is_another_one_on_the_worker_is_told(tmp_path):
    with write_folder_mark(tmp_path) as mark:
        check_folder_mark(mark)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UserError, match="is a different folder on this worker"):
        check_folder_mark(mark)


def test_rows_come_from_tables_and_from_json_lines(tmp_path):
    table = tmp_path / "names.csv"
    table.write_text('\ufeffagent_name,greeting\nAda,"Hello,\nthere"\n\nGrace,\n', encoding="utf-8")
    assert read_input_rows(table) == [
        {"agent_name": "Ada", "greeting": "Hello,\nthere"},
        {"agent_name": "Grace"},
    ]
    tabs = tmp_path / "names.tsv"
    tabs.write_text("agent_name\tlanguage\nAda\ten-US\n", encoding="utf-8")
    assert read_input_rows(tabs) == [{"agent_name": "Ada", "language": "en-US"}]
    lines = tmp_path / "names.jsonl"
    lines.write_text(
        '{"agent_name": "Ada\u2028", "tags": ["a"]}\n\n{"agent_name": "Grace"}\n', encoding="utf-8"
    )
    assert read_input_rows(lines) == [{"agent_name": "Ada\u2028", "tags": ["a"]}, {"agent_name": "Grace"}]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "", "has no name|no rows"),
        ("a.csv", "agent_name\n", "no rows"),
        ("a.csv", "a,a\n1,2\n", "two columns have the same name"),
        ("a.csv", "a,b\n1,2\n1,2,3\n", r"a\.csv:3: expected 2 fields, found 3"),
        ("a.csv", 'a\n"open', r"a\.csv:2: "),
        ("a.jsonl", '{"a": 1}\n[1]\n', r"a\.jsonl:2: not an object"),
        ("a.jsonl", "{", r"a\.jsonl:1: "),
        ("a.txt", "a\n", "neither"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(tmp_path, name, text, told):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=told):
        read_input_rows(path)
