"""`periplus kb` over MongoDB: the same answers as over files, and never a password in them."""

from __future__ import annotations

import asyncio
import json

import pymongo
import pytest

from loaders import write_folder
from periplus.cli import main
from periplus.settings import load_settings
from periplus.store_selection import parse_store_location
from tests.kb_store.sample_knowledge import knowledge_of
from tests.kb_store.used_store import lived
from tests.support.rotation import rotating

pytestmark = pytest.mark.sampled(0.5)

PASSWORD = "hunter2"


@pytest.fixture
def folder(tmp_path):
    write_folder(knowledge_of(), tmp_path / "kb")
    return tmp_path / "kb"


@pytest.fixture
def periplus(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capfd.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


@pytest.fixture
def mongodb(mongodb_url, monkeypatch):
    monkeypatch.setenv("PERIPLUS_MONGODB_URL", mongodb_url)
    return mongodb_url


@pytest.mark.mongodb
def test_everything_works_on_mongodb_as_it_does_on_files(periplus, mongodb, folder, tmp_path):
    code, out, _ = periplus("kb", "init")
    assert code == 0
    assert "made   screens  2 indexes" in out
    assert "made" not in periplus("kb", "init")[1]
    assert periplus("kb", "load", folder)[1].startswith("loaded shop, generation 1: ")
    code, out, _ = periplus("kb", "status")
    assert code == 0
    assert "replica set rs0, indexes complete" in out
    assert "no difference" in periplus("kb", "diff", folder)[1]
    assert "wrote 25 files" in periplus("kb", "export", "--website", "shop", tmp_path / "out")[1]
    for file in folder.rglob("*.yaml"):
        assert (tmp_path / "out" / file.relative_to(folder)).read_bytes() == file.read_bytes()
    assert not (tmp_path / "data" / "knowledge.sqlite3").exists()


@pytest.mark.mongodb
def test_status_makes_nothing_and_says_what_is_missing_until_init_makes_all_of_it(periplus, mongodb):
    def collections():
        with pymongo.MongoClient(mongodb) as client:
            return set(client.get_default_database().list_collection_names())

    code, out, _ = periplus("kb", "status")
    assert (code, collections()) == (0, set())
    assert out.count("indexes missing: ") == 4
    assert "nothing is loaded yet" in out
    code, out, _ = periplus("kb", "init")
    assert {"screens", "transitions", "learned", "learned_outcomes", "runs", "run_steps", "artifacts", "metrics",
            "locators", "heal_counters", "checkpoints", "rates", "proposals", "element_fingerprints"} <= collections()  # fmt: skip
    assert [line.split()[1] for line in out.splitlines() if line.startswith("ready")] == [
        "documents", "graph", "learned", "proposals", "runs",
    ]  # fmt: skip
    assert periplus("kb", "status")[1].count("indexes complete") == 4
    with pymongo.MongoClient(mongodb) as client:
        client.get_default_database().locators.drop_index("expires_at_1")
        wrong = {"status": "wonderful", "body": "{}", "supports": []}
        with pytest.raises(pymongo.errors.WriteError):
            client.get_default_database().proposals.insert_one(wrong)
    assert (
        "indexes missing: locators.expires_at_1 (`periplus kb init` makes them)"
        in periplus("kb", "status")[1]
    )
    assert "mended locators  2 indexes" in periplus("kb", "init")[1]
    assert periplus("kb", "status")[1].count("indexes complete") == 4


@pytest.mark.mongodb
def test_a_difference_is_shown_whole_and_from_where_it_begins(periplus, mongodb, folder):
    periplus("kb", "load", folder)
    long = "An order is " + "long and " * 60
    change = {
        "name: old": "name: a name that does not fit into eighty columns beside its path in the tree END"
    }
    for old, new in change.items():
        file = folder / "tasks/order.yaml"
        file.write_text(file.read_text().replace(old, new))
    assert (
        '-> "a name that does not fit into eighty columns beside its path in the tree END"\n'
        in (periplus("kb", "diff", folder)[1])
    )
    (folder / "tasks/order.yaml").write_text(file.read_text() + f"description: {long}slow\n")
    periplus("kb", "load", folder)
    (folder / "tasks/order.yaml").write_text(file.read_text().replace("slow", "quick"))
    (line,) = [each for each in periplus("kb", "diff", folder)[1].splitlines() if "$.description" in each]
    assert 'slow" -> …' in line
    assert line.endswith('quick"')


@pytest.mark.mongodb
def test_a_flag_goes_before_the_environment(periplus, mongodb_url, folder, monkeypatch):
    monkeypatch.setenv("PERIPLUS_MONGODB_URL", "mongodb://127.0.0.1:1/nowhere")
    assert periplus("kb", "load", "--mongodb-url", mongodb_url, folder)[0] == 0
    with pymongo.MongoClient(mongodb_url) as client:
        assert client.get_default_database().screens.count_documents({}) == 5


@pytest.mark.mongodb
def test_knowledge_moves_to_mongodb_and_back_with_one_command(periplus, mongodb_url, folder, tmp_path):
    periplus("kb", "load", folder)
    here, there = f"embedded:{tmp_path / 'data'}", f"embedded:{tmp_path / 'back'}"
    assert periplus("kb", "copy", "--from", here, "--to", mongodb_url)[:2] == (
        0, "copied shop: 25 documents, generation 1\n",
    )  # fmt: skip
    assert periplus("kb", "copy", "--from", here, "--to", mongodb_url)[:2] == (
        0, "same shop: nothing is new, generation 1\n",
    )  # fmt: skip
    code, out, _ = periplus("kb", "copy", "--from", mongodb_url, "--to", there, "--json")
    told = json.loads(out)
    assert (code, told["websites"][0]["website_id"], told["runs"]) == (0, "shop", {"copied": 0, "known": 0})
    periplus("kb", "export", "--website", "shop", "--mongodb-url", mongodb_url, tmp_path / "out")
    assert "no difference" in periplus("kb", "diff", tmp_path / "out")[1]
    code, _, error = periplus("kb", "copy", "--from", mongodb_url, "--to", mongodb_url)
    assert code == 2
    assert "the same store" in error


@pytest.mark.mongodb
def test_a_copy_takes_along_what_was_learned_and_run_unless_told_otherwise(
    periplus, mongodb_url, folder, tmp_path
):
    periplus("kb", "load", folder)
    asyncio.run(lived(tmp_path / "data"))
    here, there = f"embedded:{tmp_path / 'data'}", f"embedded:{tmp_path / 'back'}"
    learned = "copied shop: 25 documents, 3 learned numbers, 3 proposals, generation 1\n"
    code, out, _ = periplus("kb", "copy", "--from", here, "--to", mongodb_url, "--no-runs")
    assert (code, out) == (0, learned)
    assert "no runs yet" in periplus("runs", "list", "--mongodb-url", mongodb_url)[1]
    same = "same shop: nothing is new, generation 1\n"
    code, out, _ = periplus("kb", "copy", "--from", here, "--to", mongodb_url)
    assert (code, out) == (0, f"{same}copied 3 runs\n")
    assert "r1" in periplus("runs", "list", "--mongodb-url", mongodb_url)[1]
    code, out, error = periplus("kb", "copy", "--from", mongodb_url, "--to", there, "--website", "shop")
    assert (code, out) == (0, f"{learned}copied 3 runs\n")
    assert "not copied: locators, heal_counters, rates, run_leases, lessons, kept_values" in error
    assert periplus("kb", "copy", "--from", mongodb_url, "--to", there) == (0, f"{same}same 3 runs\n", "")
    code, out, _ = periplus("kb", "copy", "--from", mongodb_url, "--to", there, "--json")
    left = ["locators", "heal_counters", "rates", "run_leases", "lessons", "kept_values"]
    assert json.loads(out)["not_copied"] == left
    told = [
        json.loads(periplus("kb", "status", "--json", *at)[1])["websites"]
        for at in ((), ("--mongodb-url", mongodb_url))
    ]
    assert [{**told[0][0], "loaded_at": ""}] == [{**told[1][0], "loaded_at": ""}]
    assert told[0][0]["runs"]["unfinished"] == 1


@pytest.mark.mongodb
def test_wrong_credentials_say_so_however_the_driver_words_it(periplus, mongodb_url):
    url = mongodb_url.replace("mongodb://", f"mongodb://bob:{PASSWORD}@")
    code, out, error = periplus("kb", "status", "--mongodb-url", url)
    assert code == 2
    lines = [line for line in out.splitlines() if line]
    assert len(lines) == 4
    for line in lines:  # each of them: the driver remembers a refusal as a server that is away
        assert "Authentication failed -> correct user, password or `authSource`" in line
    assert PASSWORD not in out + error


def test_a_server_that_is_not_there_is_told_without_the_words_of_sockets(periplus, monkeypatch):
    monkeypatch.setattr("kb_store.mongodb.connection.SELECTION_SECONDS", 0.1)
    code, out, _ = periplus("kb", "status", "--mongodb-url", "mongodb://127.0.0.1:1/kb")
    assert code == 2
    assert "127.0.0.1:1: no server answers there -> start MongoDB" in out
    assert "Errno" not in out


def test_an_option_that_the_driver_does_not_know_is_refused_without_being_shown(periplus, folder):
    url = f"mongodb://127.0.0.1:1/kb?bogus={PASSWORD}"
    code, out, error = periplus("kb", "load", folder, "--mongodb-url", url)
    assert (code, out) == (2, "")
    assert "the driver refuses its URL" in error
    assert "an option" in error
    assert "Warning" not in error


def test_copying_from_what_is_no_store_is_refused(periplus, tmp_path):
    code, _, error = periplus("kb", "copy", "--from", "postgres://x", "--to", f"embedded:{tmp_path}")
    assert code == 2
    assert "embedded:DIR" in error
    code, _, error = periplus(
        "kb", "copy", "--from", f"embedded:{tmp_path}/a", "--to", f"embedded:{tmp_path}/b"
    )
    assert code == 2
    assert "has no knowledge" in error


@pytest.mark.parametrize(
    "url",
    rotating(
        "passwords",
        [
            f"mongodb://user:{PASSWORD}@127.0.0.1:1/kb",
            f"mongodb://user:{PASSWORD}/x@127.0.0.1/kb",
            f"mongodb://user:{PASSWORD}@127.0.0.1:99999/kb",
            f"mongodb://us@er:{PASSWORD}@127.0.0.1/kb",
            PASSWORD,
        ],
        2,
    ),
)
def test_no_command_ever_prints_a_password(periplus, folder, tmp_path, monkeypatch, url):
    monkeypatch.setattr("kb_store.mongodb.connection.SELECTION_SECONDS", 0.1)
    commands = [("load", folder), ("status",), ("status", "--json"), ("init",), ("diff", folder),
                ("export", "--website", "shop", tmp_path / "out")]  # fmt: skip
    told = [periplus("kb", *command, "--mongodb-url", url) for command in commands]
    told.append(periplus("kb", "copy", "--from", f"embedded:{tmp_path}", "--to", url))
    others = [("run", "order"), ("runs", "list"), ("runs", "show", "last"), ("mcp",)]
    told += [periplus(*command, "--mongodb-url", url) for command in others]
    monkeypatch.setenv("PERIPLUS_MONGODB_URL", url)
    told += [periplus("kb", *command) for command in commands]
    told += [periplus(*command) for command in others]
    pages = [("kb", "load"), ("kb", "copy"), ("run",), ("demo",), ("mcp",), ("runs", "list")]
    told += [periplus(*page, "--help") for page in pages]
    for code, out, error in told[: -len(pages)]:
        assert code == 2, (out, error)
    for _, out, error in told:
        assert PASSWORD not in out + error
    logs = tmp_path / "data" / "logs"
    assert not logs.exists() or not any(PASSWORD in file.read_text() for file in logs.iterdir())


def test_no_command_ever_prints_the_password_of_an_arangodb(periplus, folder, tmp_path, monkeypatch):
    url = f"http://user:{PASSWORD}@127.0.0.1:1/kb"
    there = ("--from", f"embedded:{tmp_path / 'a'}", "--to", f"embedded:{tmp_path / 'b'}")
    commands = [("kb", "load", folder), ("kb", "status"), ("kb", "init"), ("run", "order"), ("mcp",)]
    told = [periplus(*command, "--arangodb-url", url) for command in commands]
    told.append(periplus("kb", "copy", *there, "--to-arangodb-url", url))
    monkeypatch.setenv("PERIPLUS_ARANGODB_URL", url)
    told += [periplus(*command) for command in commands]
    for code, out, error in told:
        assert code == 2, (out, error)
        assert PASSWORD not in out + error
    assert PASSWORD not in repr(parse_store_location(f"mongodb://user:{PASSWORD}@h/kb", url))


def test_settings_show_no_password(monkeypatch):
    monkeypatch.setenv("PERIPLUS_MONGODB_URL", f"mongodb://user:{PASSWORD}@h/kb")
    monkeypatch.setenv("PERIPLUS_ARANGODB_URL", f"http://user:{PASSWORD}@h/kb")
    for settings in (load_settings(), load_settings(mongodb_url=f"mongodb://u:{PASSWORD}@g/kb")):
        assert PASSWORD not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


@pytest.mark.mongodb
def test_a_screen_is_renamed_and_merged_on_mongodb_as_in_files(periplus, mongodb, folder):
    periplus("kb", "load", folder)
    for edit in (("rename", "screen_0", "First screen"), ("merge", "first_screen", "screen_1")):
        assert periplus("kb", *edit, "--folder", folder)[0] == 0
        assert periplus("kb", *edit)[0] == 0
        assert "no difference" in periplus("kb", "diff", folder)[1]
