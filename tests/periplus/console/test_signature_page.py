"""A person corrects a signature: on its page in a real browser, and on the command line; tried on stored pages first."""

from __future__ import annotations

import asyncio
import json

import pytest

from kb_schema.exploration_folder import PAGES_FOLDER
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.snapshot_folder import write_snapshot
from kb_store import load_knowledge, open_stores, read_knowledge
from loaders import read_knowledge_folder, write_folder
from loaders.edits.knowledge_edit import EditRefused
from loaders.edits.signature_edit import SignatureRow, list_rows, read_indicator, write_indicator
from periplus.cli import main
from periplus.commands import kb_signature
from tests.mcp_server import pantry
from tests.periplus.console.console_site import console

PAGES = {
    "jars": ("/jars", "<title>Jars</title><h1>Your jars</h1><table class=jars><tr><td>Plum</table>"),
    "empty": ("/jars", "<title>Jars</title><h1>Nothing on the shelf</h1><p>Fill your first jar</p>"),
    "help": ("/help", "<title>Help</title><h1>How jars work</h1>"),
}


def store_pages(folder):
    folder.mkdir(parents=True)
    for name, (path, body) in PAGES.items():
        page = PageSnapshot(url=f"{pantry.BASE}{path}", html=f"<html><body>{body}</body></html>")
        write_snapshot(page, folder / f"{name}.html")
    (folder / "empty.jpg").write_bytes(b"\xff\xd8\xff\xd9")


def stored(data):
    async def read():
        async with open_stores(data) as stores:
            return (await read_knowledge(stores.documents, stores.graph, "pantry"))[0]

    return read()


@pytest.fixture
async def page(browser):
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()


async def test_a_signature_is_corrected_on_its_page_after_a_trial_on_all_stored_pages(page, tmp_path):
    store_pages(tmp_path / "maps" / "pantry" / "exploration" / PAGES_FOLDER)
    async with console(tmp_path, pantry.knowledge()) as there:
        await page.goto(there.at("/sites/pantry/screens/shelf"))
        await page.get_by_role("link", name="Correct and try it on stored pages").click()
        assert await page.get_by_label("Indicator 3", exact=True).input_value() == "text: Your jars"
        own = page.get_by_role("region", name="Pages of this screen")
        assert "jars" in await own.inner_text()
        assert "/jars" not in await page.get_by_role("region", name="Pages that change").all_inner_texts()

        await page.get_by_label("Indicator 3", exact=True).fill("title: Jars")
        await page.get_by_role("button", name="Try it on the stored pages").click()
        await (
            page.get_by_role("status")
            .get_by_text("1 of 3 pages become this screen, 0 are it no more")
            .wait_for()
        )
        changed = page.get_by_role("region", name="Pages that change")
        assert "no known screen" in await changed.inner_text()
        await changed.get_by_text("3 match").click()
        assert "title_contains 'Jars'" in await changed.inner_text()
        before = (await stored(tmp_path)).screens["shelf"].state_signature.required_indicators
        assert [each.type for each in before] == ["dom_contains"]  # nothing is saved by trying

        await page.get_by_label("Kind of indicator 4").select_option("leave_out")
        await page.get_by_label("Indicator 5", exact=True).fill("css: h1")
        await page.get_by_label("Weight of indicator 5").fill("0.5")
        await page.get_by_role("button", name="Save").click()
        await page.wait_for_url("**/screens/shelf#known")
        now = (await stored(tmp_path)).screens["shelf"]
        rows = [(each.kind, write_indicator(each.condition), each.condition.weight) for each in list_rows(await stored(tmp_path), "shelf").rows]  # fmt: skip
        assert rows == [
            ("url_patterns", "url: ^/jars$", None),
            ("url_patterns", "url: ^/$", None),
            ("required", "title: Jars", None),
            ("required", "css: h1", 0.5),
        ]
        assert now.name == "Shelf"
        answer = await page.request.get(there.at("/sites/pantry/stored-pages/empty/picture"))
        assert (answer.status, answer.headers["content-type"]) == (200, "image/jpeg")
        assert (await page.request.get(there.at("/sites/pantry/stored-pages/../x/picture"))).status == 404


async def test_what_cannot_be_saved_is_told_with_its_place_and_the_form_stays(page, tmp_path):
    async with console(tmp_path, pantry.knowledge()) as there:
        await page.goto(there.at("/sites/pantry/screens/help/signature"))
        await page.get_by_text("There are no stored pages of this website").wait_for()
        await page.get_by_label("Indicator 1", exact=True).fill("txt: How jars work")
        await page.get_by_role("button", name="Save").click()
        alert = page.get_by_role("alert")
        assert "indicator 1" in (await alert.inner_text()).lower()
        assert 'did you mean "text"' in await alert.inner_text()
        assert await page.get_by_label("Indicator 1", exact=True).input_value() == "txt: How jars work"
        await page.get_by_label("Kind of indicator 1", exact=True).select_option("leave_out")
        await page.get_by_role("button", name="Save").click()
        assert "would never be identified" in await alert.inner_text()
        assert (await stored(tmp_path)) == pantry.knowledge()


# -- the command -------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(kb_signature.out, "width", 200)

    async def load():
        async with open_stores(tmp_path / "data") as stores:
            await load_knowledge(stores.documents, stores.graph, pantry.knowledge())

    asyncio.run(load())
    return tmp_path / "data"


@pytest.fixture
def periplus(data, capsys):
    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main(["kb", "signature", *map(str, args)])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


def test_the_command_lists_the_indicators_and_what_they_match_on_the_pages_of_the_map(periplus, data):
    code, out, _ = periplus("shelf")
    assert code == 0
    assert "not tried" in out
    store_pages(data / "maps" / "pantry" / "exploration" / PAGES_FOLDER)
    code, out, _ = periplus("shelf")
    assert code == 0
    (line,) = [each for each in out.splitlines() if "text: Your jars" in each]
    assert line.split()[:2] == ["3", "required"]
    assert "1 of 1 here, 0 of 2 elsewhere" in line


def test_a_change_is_tried_then_made_in_the_store_and_in_files(periplus, data, tmp_path):
    store_pages(tmp_path / "pages")
    change = (
        "shelf",
        "--remove",
        3,
        "--kind",
        "4=primary",
        "--add",
        "required=title: Jars",
        "--threshold",
        0.5,
    )
    code, out, _ = periplus(*change, "--snapshots", tmp_path / "pages", "--dry-run")
    assert code == 0
    assert "1 page become this screen, 0 are it no more" in out
    assert "empty (https://pantry.example/jars): no known screen -> shelf" in out
    assert asyncio.run(stored(data)) == pantry.knowledge()
    code, out, _ = periplus(*change)
    assert (code, "generation 2" in out) == (0, True)
    signature = asyncio.run(stored(data)).screens["shelf"].state_signature
    assert [each.value for each in signature.required_indicators] == ["Jars"]
    assert [each.type for each in signature.primary_indicators] == ["element_visible"]
    assert (signature.optional_indicators, signature.confidence_threshold) == ((), 0.5)

    write_folder(pantry.knowledge(), tmp_path / "kb")
    code, out, _ = periplus(*change, "--folder", tmp_path / "kb")
    assert code == 0
    assert read_knowledge_folder(tmp_path / "kb")[0].screens["shelf"].state_signature == signature


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("shelff",), 'did you mean "shelf"'),
        (("shelf", "--remove", 9), "there is no indicator 9"),
        (("shelf", "--add", "required"), "expected KIND=INDICATOR"),
        (("shelf", "--add", "necessary=text: x"), "KIND one of"),
        (("shelf", "--add", "required=Your jars"), "is no indicator"),
        (("shelf", "--add", "required=url: ("), "--add required"),
        (("shelf", "--add", 'required={"type": "dom_contains"}'), "--add required"),
        (("shelf", "--add", "required={"), "is no JSON"),
        (("shelf", "--kind", "x=optional"), "expected N=KIND"),
        (("help", "--remove", 1), "would never be identified"),
        (("shelf", "--snapshots", "nowhere"), "no such folder"),
    ],
)
def test_a_wrong_change_is_one_error_with_its_place_and_code_2(periplus, data, arguments, said):
    code, _, err = periplus(*arguments)
    assert code == 2
    assert said in err
    assert asyncio.run(stored(data)) == pantry.knowledge()


def test_an_indicator_reads_as_it_is_written_and_keeps_its_reason():
    for screen_id in pantry.knowledge().screens:
        for row in list_rows(pantry.knowledge(), screen_id).rows:
            assert read_indicator(write_indicator(row.condition), "here") == row.condition
    reasoned = read_indicator('{"type": "dom_contains", "value": "Plum", "reason": "seen"}', "here")
    assert write_indicator(reasoned) == "text: Plum"
    assert read_indicator("text: Plum", "here", [SignatureRow("required", reasoned)]).reason == "seen"
    with pytest.raises(EditRefused, match="here"):
        read_indicator("plum", "here")


def test_the_list_as_json_has_every_indicator_and_page(periplus, data, tmp_path):
    store_pages(tmp_path / "pages")
    code, out, _ = periplus("shelf", "--snapshots", tmp_path / "pages", "--json")
    told = json.loads(out)
    assert (code, [each["indicator"] for each in told["indicators"]][2]) == (0, "text: Your jars")
    assert {each["name"]: each["after"] for each in told["pages"]} == {
        "jars": "shelf",
        "empty": None,
        "help": "help",
    }
