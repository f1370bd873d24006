"""What a page shows is data: a text such as `{secret:A}` costs a map neither a page nor its knowledge."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_schema import KnowledgeBase
from kb_schema.placeholders import find_secret_names, replace_secret_placeholders
from kb_schema.secret_placement import find_misplaced_secrets
from loaders.exploration_import.knowledge_builder import ExploredKnowledge, build_knowledge
from tests.support.explored import drawing

MENU = "<nav><a href='/boats'>Boats</a><a href='/help'>Help</a>{}</nav>"
WAYS = {
    "an option of every page": ("<header><select aria-label=Boat><option value=Skua>Skua</option><option value='{}'>{}</option></select></header>", ""),
    "a link of the menu": ("<nav><a href='/boats'>Boats</a><a href='/b/3'>{}</a></nav>", ""),
    "a button's label": ("", "<button aria-label='{}'>x</button>"),
    "a heading": ("", "<h2>{}</h2>"),
    "a field's label and name": ("", "<form method=post action=/a><label>{} <input name='{}' id='{}'></label><button>Save {}</button></form>"),
    "an address": ("<nav><a href='/boats?q={}'>Boats</a></nav>", "<a href='/c/{}'>More</a>"),
    "a row": ("", "<table><tr><td>{}</td><td><button>Edit</button></td></tr><tr><td>Skua</td><td><button>Edit</button></td></tr></table>"),
}  # fmt: skip
TEXTS = ("{secret:A}", "The {secret:PASSWORD} of all", "{sec{secret:A}ret:B}", "{sec<b>ret:</b>A}")


def _map(path: Path, way: str, text: str) -> ExploredKnowledge:
    common, own = WAYS[way]
    common, own = common.replace("{}", text), own.replace("{}", text)
    drawn = drawing(path)
    drawn.page("p1", "/", f"{common}<main><h1>Harbor</h1><p>Tides of today</p>{own}</main>", "Harbor", start=True)  # fmt: skip
    drawn.page("p2", "/boats", f"{common}<main><h1>All boats</h1><p>The list</p>{own}</main>", text)
    drawn.page("p3", "/help", f"{common}<main><h1>Help</h1><p>Ask us</p></main>", "Help")
    drawn.tried("p1", "p2", offer_id=drawn.pages["p1"].offers[0].offer_id if drawn.pages["p1"].offers else None, message=text)  # fmt: skip
    return build_knowledge(drawn.folder)


def _find(knowledge: KnowledgeBase) -> list[str]:
    return [
        str(each)
        for documents in knowledge.by_kind.values()
        for document in documents.values()
        for each in find_misplaced_secrets(document)
    ]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("way", WAYS)
def test_a_page_that_shows_a_placeholder_is_mapped_and_names_no_secret(
    tmp_path: Path, way: str, text: str
) -> None:
    made = _map(tmp_path, way, text)
    assert {page for pages in made.screens.values() for page in pages} == {"p1", "p2", "p3"}
    assert _find(made.knowledge) == []


def test_what_stands_beside_a_placeholder_stays(tmp_path: Path) -> None:
    made = _map(tmp_path, "an option of every page", "{secret:A}")
    written = "".join(
        each.model_dump_json() for documents in made.knowledge.by_kind.values() for each in documents.values()
    )
    assert '"value":"Skua"' in written
    assert "(secret:A)" in written
    assert "{secret:" not in written


@pytest.mark.parametrize(
    "text", ["{secret:A}", "a{secret:A}b", "{sec{secret:A}ret:B}", "{secret:{secret:A}B}"]
)
def test_no_placeholder_is_left_in_a_text(text: str) -> None:
    assert find_secret_names(replace_secret_placeholders(text)) == ()


def test_other_braces_stay() -> None:
    text = "{secret} {secret:} {name} {unique}"
    assert replace_secret_placeholders(text) == text
