"""Maps of a website read back as what they show, whatever the website calls things."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import networkx as nx
import pydot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import SourcedDocument, assemble, parse_document
from loaders import read_knowledge_folder
from loaders.bridges.graph_diagrams import to_dot, to_graphml, to_mermaid
from loaders.bridges.knowledge_digest import SIZES, render_digest
from loaders.markup_escapes import one_line
from tests.kb_store.sample_knowledge import knowledge_of
from tests.loaders.bridges.hostile_website import NASTY, website_called

NAMES = st.text(max_size=50) | st.text(alphabet="\"\\[](){}<>|;#&`'\n\u202e-> ab", max_size=40)
MERMAID_LINE = re.compile(
    r'flowchart LR|  subgraph g\d+\["[^"]*"\]|  end| {2,4}s\d+\["[^"]*"\]|  s\d+ (-->|-\.->)\|"[^"]*"\| s\d+|'
)


@pytest.fixture(scope="module")
def spadeworks():
    return read_knowledge_folder(Path(__file__).parents[3] / "seeds/spadeworks/kb")[0]


def graphml(knowledge):
    return nx.read_graphml(BytesIO(to_graphml(knowledge).encode()), force_multigraph=True)


def undotted(text):
    return (text[1:-1] if text.startswith('"') else text).replace('\\"', '"').replace("\\\\", "\\")


def test_every_screen_and_way_of_the_seed_is_on_every_map(spadeworks):
    ways = spadeworks.by_kind["transition"]
    read = graphml(spadeworks)
    assert set(read.nodes) == set(spadeworks.screens)
    assert len(read.edges) == len(ways)
    (drawn,) = pydot.graph_from_dot_data(to_dot(spadeworks))
    nodes = [node for part in (drawn, *drawn.get_subgraphs()) for node in part.get_nodes()]
    named = {undotted(node.get_name()) for node in nodes} - {"node", "\\n"}
    assert named == set(spadeworks.screens)
    assert len(drawn.get_edges()) == len(ways)
    lines = to_mermaid(spadeworks).splitlines()
    assert all(MERMAID_LINE.fullmatch(line) for line in lines)
    assert sum(" --" in line or " -." in line for line in lines) == len(ways)


@pytest.mark.parametrize("name", NASTY)
def test_a_hostile_name_is_a_label_in_dot(name):
    (drawn,) = pydot.graph_from_dot_data(to_dot(website_called(name)))
    assert len(drawn.get_edges()) == 1
    (cluster,) = drawn.get_subgraphs()
    (node,) = [each for each in cluster.get_nodes() if undotted(each.get_name()) == "one"]
    assert set(node.get_attributes()) == {"label"}
    assert undotted(node.get_attributes()["label"]) == one_line(name)


@given(NAMES)
def test_any_name_is_a_label_in_mermaid(name):
    for line in to_mermaid(website_called(name)).split("\n"):
        assert MERMAID_LINE.fullmatch(line), line
        assert re.fullmatch(r"[ -~]*", line)


@given(NAMES)
def test_any_name_is_read_back_from_graphml(name):
    read = graphml(website_called(name))
    assert set(read.nodes) == {"one", "two"}
    said = name if name.strip() else "x"
    assert read.nodes["one"].get("label", "") == one_line(said)


@pytest.mark.parametrize("level", SIZES)
def test_a_digest_keeps_to_its_bound_and_has_something_of_everything(spadeworks, level):
    text = render_digest(spadeworks, level)
    assert len(text) <= SIZES[level]
    for title in ("## Screens", "## Transitions between screens", "## Tasks"):
        assert title in text
    assert "- from `agent_list`" in text
    assert "`agent_name: string`" in text
    assert "`password: secret`" in render_digest(spadeworks, "full")


@settings(max_examples=60)
@given(NAMES, st.integers(min_value=0, max_value=3_000))
def test_a_digest_of_any_names_keeps_to_any_bound_and_names_are_code(name, longest):
    knowledge = website_called(name)
    head = len(render_digest(knowledge, longest=0))
    text = render_digest(knowledge, longest=longest)
    assert len(text) <= max(longest, head)
    linked = re.sub(
        r"^- \[(`.*`)\]\(https://shop\.example/[^\s()<>\[\]`]*\)",
        r"- \1",
        render_digest(knowledge, "full"),
        flags=re.MULTILINE,
    )
    fewer_marks = re.sub(r"(`+).*?(?<!`)\1(?!`)", "", linked)
    assert not re.search(r"[\[\]<@!]", fewer_marks.replace("->", ""))


def test_a_digest_says_how_much_it_left_out():
    assert "… and" in render_digest(knowledge_of(screens=200), "brief")


def test_two_screens_whose_long_ids_end_differently_stay_two_in_dot():
    long = "x" * 199
    documents = [
        {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"},
        *({"type": "screen", "screen_id": long + end, "name": end, "url_patterns": [f"^/{end}$"]} for end in "ab"),
    ]  # fmt: skip
    (drawn,) = pydot.graph_from_dot_data(
        to_dot(assemble([SourcedDocument(parse_document(each)) for each in documents])[0])
    )
    assert {f"{long}a", f"{long}b"} <= {undotted(each.get_name()) for each in drawn.get_nodes()}


def test_a_digest_is_shaped_as_readers_of_llms_txt_expect(spadeworks):
    text = render_digest(spadeworks, "full")
    title, _, summary, *_ = text.split("\n")
    assert (title, summary[:3]) == ("# `Spadeworks`", "> `")
    screens = text.split("\n## ")[1]
    entry = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<url>[^)\s]+)\)(?::\s*(?P<desc>.*))?$", re.MULTILINE)
    links = {each["title"]: each["url"] for each in entry.finditer(screens)}
    assert links["`agent_list` `Agents`"] == "https://app.spadeworks.co/agent"
    assert len(links) == sum(bool(each.url) for each in spadeworks.screens.values())
    assert (
        render_digest(knowledge_of()).split("\n")[2]
        == "> 5 screens with 4 transitions between them, 2 tasks."
    )


def test_a_digest_says_in_words_how_learned_screens_are_known():
    signs = [
        {"type": "element_visible", "element": {"strategies": [
            {"type": "role_name", "role": "button", "name": "Keep"}]}},
        {"type": "dom_element", "selector": "h1", "text_contains": "Goods"},
        {"type": "element_visible", "element": {"strategies": [{"type": "semantic", "text_contains": "x"}]}},
    ]  # fmt: skip
    documents = [
        {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"},
        {"type": "screen", "screen_id": "goods", "name": "Goods", "url": "/goods(1)",
         "state_signature": {"required_indicators": [{"type": "any_of", "conditions": signs}]}},
    ]  # fmt: skip
    text = render_digest(assemble([SourcedDocument(parse_document(each)) for each in documents])[0])
    assert (
        '- [`goods` `Goods`](https://shop.example/goods%281%29): identified by `button "Keep" or "Goods" in h1 or x`'
        in text
    )
