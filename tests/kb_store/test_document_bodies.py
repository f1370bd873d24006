"""The text and the values of a document's body are the same JSON, whatever the document holds."""

import gc
import json
from pathlib import Path

import pytest

from kb_schema import KnowledgeError, parse_document
from kb_schema.collection_pause import paused_collection
from kb_schema.secret_placement import is_stored_without_secrets
from kb_store.errors import StoreCorrupt, StoreTooNew
from kb_store.knowledge_records import (
    DocumentBody,
    KnowledgeRecord,
    StoredBody,
    body_text,
    from_body,
    from_record,
    to_body,
    to_values,
)
from kb_store.record_parser import RecordParser
from loaders.files.folder_reader import read_knowledge_folder

KNOWLEDGE = (Path("seeds/spadeworks/kb"), Path("tests/data/harbour/kb"))
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


def _record(text, kind="screen", local_id="s"):
    return KnowledgeRecord(kind, local_id, StoredBody(text))


@pytest.mark.parametrize("folder", KNOWLEDGE, ids=lambda each: each.parts[-2])
def test_a_document_from_its_text_is_the_document_from_its_values(folder):
    for document in read_knowledge_folder(folder)[0].documents():
        text = body_text(DocumentBody(document))
        found = from_record(_record(text, document.kind, document.local_id))
        assert found == from_body(json.loads(text)) == document
        assert from_record(KnowledgeRecord(document.kind, document.local_id, json.loads(text))) == document
        assert found.model_fields_set == from_body(json.loads(text)).model_fields_set


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"screen","screen_id":"s","name":"S"}',
        '{"type":"screen","schema_version":1,"screen_id":"s","name":"S"}',
        '{"schema_version":2,"screen_id":"s","name":"S"}',
        '{ "type": "screen", "schema_version": 2, "_id": "screens/s", "_key": "s", "screen_id": "s", "name": "S" }',
        '{"type":"screen","schema_version":2,"screen_id":"s","name":"S","metadata":{"odd":"\\ud800"}}',
        '{"type":"screen","schema_version":2,"screen_id":"s","name":"S","metadata":{"odd":NaN}}',
        '{"type":"transition","schema_version":2,"_from":"a","_to":"b","triggered_by":{"action_type":"click","target":"#x"}}',
    ],
)
def test_text_that_we_would_not_write_is_read_as_its_values_are(text):
    """Of an older version, without its type, with the keys of ArangoDB, with what UTF-8 cannot have, of another kind."""
    expected = repr(from_body(json.loads(text)))
    assert repr(from_record(_record(text))) == expected
    assert repr(from_record(KnowledgeRecord("screen", "s", json.loads(text)))) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"screen","schema_version":2,"screen_id":"s","nmae":"S"}',
        '{"type":"screen","schema_version":2,"screen_id":""}',
    ],
)
def test_invalid_text_has_the_problems_of_its_values(text):
    with pytest.raises(KnowledgeError) as by_text:
        from_record(_record(text))
    with pytest.raises(KnowledgeError) as by_values:
        from_body(json.loads(text), source="screen/s")
    assert by_text.value.problems == by_values.value.problems


def test_text_of_a_newer_version_is_refused():
    with pytest.raises(StoreTooNew):
        from_record(_record('{"type":"screen","schema_version":9,"screen_id":"s","name":"S"}'))


@pytest.mark.parametrize("written", ["{secret:PIN}", "\\u007bsecret:PIN}", "{se\\u0063ret:PIN}"])
def test_a_secret_in_stored_text_is_found_however_it_is_escaped(written):
    website = (
        '{"type":"website","schema_version":2,"website_id":"w","name":"W","base_url":"https://w.example"}'
    )
    screen = f'{{"type":"screen","schema_version":2,"website_id":"w","screen_id":"s","name":"{written}","url_patterns":["^/s$"]}}'
    parser = RecordParser("a store", "w")
    for kind, local_id, text in (("website", "w", website), ("screen", "s", screen)):
        parser.add(_record(text, kind, local_id), without_secrets=is_stored_without_secrets(text))
    with pytest.raises(StoreCorrupt) as refused:
        parser.assembled()
    assert [each.rule for each in refused.value.problems] == ["secret-placeholders"]


def test_what_is_made_in_a_pause_is_old_at_its_end_and_what_is_frozen_stays_frozen():
    with paused_collection():
        made = [[] for _ in range(1_000)]
    assert sum(each in map(id, gc.get_objects(generation=2)) for each in map(id, made[:3])) == 3
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with paused_collection():
            pass
        assert gc.get_freeze_count() > frozen / 2, "some of what is frozen may end meanwhile"
    finally:
        gc.unfreeze()
