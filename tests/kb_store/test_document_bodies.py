"""The text and the values of a document's body are the same JSON, whatever the document holds."""

import gc
import json
from pathlib import Path

import pytest

from kb_schema import parse_document
from kb_schema.collection_pause import paused_collection
from kb_store.knowledge_records import DocumentBody, body_text, to_body, to_values
from loaders.files.folder_reader import read_knowledge_folder

SCREEN = {"type": "screen", "screen_id": "s", "name": "S", "url_patterns": ["^/s$"]}


@pytest.mark.parametrize(
    "document",
    tuple(read_knowledge_folder(Path("seeds/spadeworks/kb"))[0].documents()),
    ids=lambda each: each.kind,
)
def test_the_text_of_a_body_is_its_values(document):
    body = DocumentBody(document)
    assert json.loads(body.text()) == to_body(document) == dict(body) == to_values(body)


@pytest.mark.parametrize(
    "odd", ["\ud800", "a\0b", "null", None, 10**40, float("nan"), {"$set": ["é", True]}, [], {}]
)
def test_a_text_holds_what_json_in_utf_8_cannot(odd):
    document = parse_document({**SCREEN, "metadata": {"odd": odd}})
    assert repr(json.loads(body_text(DocumentBody(document)))) == repr(to_body(document))


def test_cycles_are_searched_again_after_the_last_of_overlapping_pauses():
    assert gc.isenabled()
    first, second = paused_collection(), paused_collection()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()
