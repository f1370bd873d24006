"""`periplus kb check` and `periplus snapshot`: what a person reads, and how they end."""

from __future__ import annotations

import asyncio
import json

import pytest
import yaml
from playwright.async_api import async_playwright

from agent.browser.launch import launch
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.snapshot_folder import list_snapshots, write_snapshot
from periplus.cli import main

BASE = "https://shop.example"
SCREENS = {
    "create": {
        "required_indicators": [{"type": "dom_contains", "value": "Product", "selector": "h1"}],
        "optional_indicators": [{"type": "dom_contains", "value": "C", "selector": "button"}],
    },
    "edit": {
        "required_indicators": [{"type": "dom_contains", "value": "Product", "selector": "h1"}],
        "optional_indicators": [{"type": "dom_contains", "value": "e", "selector": "button"}],
    },
    "home": {"required_indicators": [{"type": "dom_contains", "value": "Home", "selector": "h1"}]},
}
PAGES = {
    "create/v1": "<h1>Product</h1><button data-testid='create'>Create</button>",
    "create/v2": "<h1>Product</h1><button data-testid='create'>Create it</button>",
    "edit": "<h1>Product</h1><button data-testid='delete'>Delete</button>",
    "home": "<h1>Home</h1>",
    "other": "<h1>Elsewhere</h1>",
}
LABELS = {"create/v1": "create", "create/v2": "create", "edit": "edit", "home": "home", "other": None}


@pytest.fixture
def kb(tmp_path):
    folder = tmp_path / "kb"
    (folder / "screens").mkdir(parents=True)
    website = {"website_id": "shop", "name": "Shop", "base_url": BASE}
    (folder / "website.yaml").write_text(yaml.safe_dump(website))
    for screen_id, signature in SCREENS.items():
        screen = {"screen_id": screen_id, "name": screen_id, "state_signature": signature}
        (folder / "screens" / f"{screen_id}.yaml").write_text(yaml.safe_dump(screen))
    return folder


@pytest.fixture
def pages(tmp_path):
    folder = tmp_path / "pages"
    for name, html in PAGES.items():
        write_snapshot(PageSnapshot(url=f"{BASE}/x", title="Shop", html=html), folder / name)
    (folder / "labels.json").write_text(json.dumps(LABELS))
    return folder


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


def mend(kb, report):
    """Do what the report proposes."""
    for finding in report["findings"]:
        proposal = finding["proposal"]
        if proposal is not None:
            file = kb / "screens" / f"{proposal['screen_id']}.yaml"
            screen = yaml.safe_load(file.read_text())
            screen["state_signature"].setdefault(proposal["slot"], []).append(proposal["condition"])
            file.write_text(yaml.safe_dump(screen))


def test_confused_screens_are_shown_with_what_separates_them_and_doing_so_mends_it(periplus, kb, pages):
    command = ("kb", "check", kb, "--snapshots", pages, "--labels", pages / "labels.json")
    code, out, err = periplus(*command)
    assert (code, err) == (1, "")
    assert out.startswith("broken: shop, 3 screens; 3 of 5 labelled snapshots right\n")
    assert "x nothing separates edit from create: it also holds on 2 of 2 snapshots of create" in out
    assert (
        'add to negative_indicators of edit: {"type": "dom_element", "selector": "[data-testid=\\"create\\"]"}'
        in out
    )
    assert "matches 2 of 2 snapshots of create, and 0 of 1 of edit" in out
    rows = {
        line.split()[0]: line.split()[1:]
        for line in out.splitlines()
        if line.startswith("  ") and line[2:3].isalpha()
    }
    assert rows["total"][:4] == ["5", "3", "2", "0"]
    assert rows["create"][:4] == ["2", "0", "2", "0"]
    assert "home" not in rows

    code, out, err = periplus(*command, "--json")
    assert (code, err) == (1, "")
    mend(kb, json.loads(out))
    code, out, err = periplus(*command)
    assert (code, err) == (0, "")
    assert out.startswith("fine: shop, 3 screens; 5 of 5 labelled snapshots right\n")
    assert "taken for" not in out


def test_without_labels_only_contradictions_are_told(periplus, kb, pages):
    code, out, _ = periplus("kb", "check", kb, "--snapshots", pages)
    assert code == 1
    assert "4 of 5 snapshots match" in out
    assert "with --labels a condition that separates them is proposed" in out
    assert "1 snapshot without a label match no screen" not in out
    assert "1 snapshot without a label matches no screen" in out


def test_the_knowledge_may_come_from_the_store(periplus, kb, pages):
    code, _, err = periplus("kb", "check", "--snapshots", pages)
    assert code == 2
    assert "the store is empty" in err
    assert periplus("kb", "load", kb)[0] == 0
    assert periplus("kb", "check", "--snapshots", pages, "--json")[0] == 1
    code, _, err = periplus("kb", "check", "--snapshots", pages, "--website", "shp")
    assert code == 2
    assert 'did you mean "shop"?' in err
    code, _, err = periplus("kb", "check", kb, "--snapshots", pages, "--website", "shp")
    assert code == 2
    assert "contains website 'shop', not 'shp'" in err


@pytest.mark.parametrize(
    ("spoil", "args", "told"),
    [
        (lambda pages: (pages / "edit.json").unlink(), [], ["edit.json", "edit.html is here without it"]),
        (lambda pages: (pages / "edit.json").write_text("{"), [], ["edit.json", "is not JSON"]),
        (lambda pages: (pages / "labels.json").write_text('{"home": "hme"}'), ["--labels", "labels.json"],
         ["$.home", "no screen 'hme'", 'did you mean "home"?']),
        (lambda pages: (pages / "labels.json").write_text('{"hoome": "home"}'), ["--labels", "labels.json"],
         ["no snapshot 'hoome'", 'did you mean "home"?']),
        (lambda pages: None, ["--labels", "missing.json"], ["missing.json", "cannot be read"]),
        (lambda pages: (pages / "home.html").write_bytes(b"\xff"), [], ["home.html", "is not UTF-8 text"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_message_naming_the_file(periplus, kb, pages, monkeypatch, spoil, args, told):
    spoil(pages)
    monkeypatch.chdir(pages)
    code, out, err = periplus("kb", "check", kb, "--snapshots", ".", *args)
    assert (code, out) == (2, "")
    for text in told:
        assert text in err
    assert "Traceback" not in err


def test_a_folder_of_snapshots_must_be_named_and_exist(periplus, kb, tmp_path):
    code, _, err = periplus("kb", "check", kb)
    assert (code, "--snapshots" in err) == (2, True)
    code, _, err = periplus("kb", "check", kb, "--snapshots", tmp_path / "nowhere")
    assert (code, "there is no such folder" in err) == (2, True)


async def in_thread(run, *args):
    """Commands run an event loop of their own."""
    return await asyncio.to_thread(run, *args)


@pytest.fixture(scope="module")
async def shop():
    """A page that shows its secrets only to those who are known."""

    async def answer(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        known = "session=ada" in head
        body = (
            f"<title>Shop</title><h1>{'Hello Ada' if known else 'Sign in'}</h1>"
            "<input id=pin type=password value=1234><p id=later hidden>Soon</p>"
            "<script>setTimeout(() => fetch('/more').then(() => { later.hidden = false }), 50)</script>"
        ).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)  # fmt: skip
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_page_is_stored_as_the_browser_sees_it_and_checked(periplus, shop, tmp_path):
    code, out, err = await in_thread(periplus, "snapshot", f"{shop}/login", "--out", tmp_path / "p" / "login")
    assert (code, err) == (0, "")
    assert "login.html and its .json: Shop" in out
    (stored,) = list_snapshots(tmp_path / "p")
    page = stored.read()
    assert (page.url, page.title, page.annotated) == (f"{shop}/login", "Shop", True)
    assert "1234" not in page.html
    assert '<p id="later">Soon' in page.html, "what the page loads later is there"


async def test_a_session_can_be_brought_along(periplus, shop, tmp_path):
    state = {"cookies": [{"name": "session", "value": "ada", "url": shop}], "origins": []}
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        context = await browser.new_context()
        await context.add_cookies(state["cookies"])
        await context.storage_state(path=tmp_path / "state.json")
        await browser.close()
    run = ("snapshot", shop, "--out", tmp_path / "home", "--storage-state", tmp_path / "state.json")
    assert (await in_thread(periplus, *run))[0] == 0
    assert "Hello Ada" in (tmp_path / "home.html").read_text()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["shop.example", "--out", "x"], "is not a web address"),
        (["http://127.0.0.1:9/", "--out", "x"], "could not be stored"),
        (["http://127.0.0.1:9/", "--out", "x", "--storage-state", "nowhere.json"], "is not a storage state"),
        (["http://127.0.0.1:9/"], "--out"),
    ],
)
def test_a_page_that_cannot_be_stored_is_one_message(periplus, args, told):
    code, out, err = periplus("snapshot", *args)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
