"""Hostile strings in every field of every kind of document: kept as they are, or refused with the place."""

from __future__ import annotations

import copy
import json

import pytest
from pydantic import ValidationError

from kb_schema import KnowledgeError, parse_document
from kb_schema.observed_outcomes import Outcome
from kb_store import load_knowledge, read_knowledge
from kb_store.knowledge_records import (
    DOCUMENT_KINDS,
    EdgeEnd,
    EdgeRecord,
    KnowledgeRecord,
    from_body,
    to_body,
)
from kb_store.learned.learned_numbers import utc_now
from kb_store.lease_owners import this_process
from loaders import read_knowledge_folder, write_folder
from tests.kb_store.sample_knowledge import documents_of, knowledge_of, version_of
from tests.support.rotation import dice, rotating

HOSTILE = (
    "O'Brien", '"; DROP TABLE documents; --', "{'$where': 'sleep(1)'}", "$where", "$$NOW", "a.b.$[]",
    "x RETURN y // @website", "../../etc/passwd", "\u0000 in the middle \u0000", "\u2028\u2029", "🚀 é ﷽",
    "%s {} {{x}} :name ?1", "\\", "\r\n\t", "[bold]not markup[/]",
)  # fmt: skip
LONG = "a" * 1_000_000


def paths_of(value, path=()):
    """The place of every string in a JSON document, keys of mappings among them as `(..., key, None)`."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key, None)
            yield from paths_of(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths_of(inner, (*path, index))


def with_text(document, path, text):
    changed = copy.deepcopy(document)
    *way, last = path
    renames = last is None
    if renames:
        last = way.pop()
    holder = changed
    for step in way:
        holder = holder[step]
    if renames:
        holder[text] = holder.pop(last)
    else:
        holder[last] = text
    return changed


def kinds():
    """One document of each kind, whole."""
    return {document["type"]: document for document in documents_of()}.values()


PLACES = [(document, path) for document in kinds() for path in paths_of(document)]


def spoilt(text, places=None):
    """Every document with the text in one place: those that are documents still, and how the others are refused."""
    accepted, refused = [], []
    for document, path in PLACES if places is None else places:
        try:
            accepted.append(parse_document(with_text(document, path, text)))
        except KnowledgeError as exc:
            refused.append((document["type"], path, exc))
    return accepted, refused


@pytest.mark.parametrize("text", [*HOSTILE, LONG], ids=lambda text: ascii(text[:20]))
def test_what_is_refused_is_refused_with_a_place_and_a_reason(text):
    accepted, refused = spoilt(text, dice("megabyte").sample(PLACES, 20) if text == LONG else None)
    assert accepted
    assert refused
    for kind, path, error in refused:
        for problem in error.problems:
            assert problem.path.startswith("$"), (kind, path)
            assert problem.message
            assert len(str(problem)) < 6_000, (kind, path)  # a text of a megabyte is not told back


@pytest.mark.parametrize("text", rotating("hostile documents", HOSTILE, 4), ids=lambda text: ascii(text[:20]))
async def test_what_is_accepted_is_stored_and_given_back_as_it_is(stores, text):
    accepted, _ = spoilt(text)
    assert {each.kind for each in accepted} >= {*DOCUMENT_KINDS, "screen_group", "transition"}
    await kept_as_they_are(stores, accepted)


async def test_names_of_a_megabyte_are_stored_and_given_back_as_they_are(stores):
    rest = [place for place in PLACES if place[1][-1] in ("name", "version")]
    accepted, _ = spoilt(LONG, dice("megabytes").sample(rest, 6))
    assert len(accepted) == 6
    await kept_as_they_are(stores, accepted)


async def kept_as_they_are(stores, accepted):
    lease = await stores.documents.begin("shop", this_process(), ttl=60)
    records, edges = [], []
    for number, document in enumerate(accepted):
        name = f"{document.kind}{number:04}"
        if document.kind in DOCUMENT_KINDS or document.kind == "screen_group":
            records.append(KnowledgeRecord(document.kind, name, to_body(document)))
        else:
            ends = EdgeEnd("screen", "a"), EdgeEnd("screen", "b")
            edges.append(EdgeRecord(document.kind, name, *ends, to_body(document)))
    groups = [record for record in records if record.kind == "screen_group"]
    await stores.documents.put(lease, [record for record in records if record not in groups])
    await stores.graph.put_vertices("shop", lease.generation, groups)
    await stores.graph.put_edges("shop", lease.generation, edges)
    found = [record async for record in stores.documents.records("shop", lease.generation)]
    found += [record async for record in stores.graph.vertices("shop", lease.generation)]
    found += [edge async for edge in stores.graph.edges("shop", lease.generation)]
    given = {record.local_id: record for record in (*records, *edges)}
    assert {record.local_id: record for record in found} == given
    for record in found:
        assert to_body(from_body(record.body)) == record.body


@pytest.mark.parametrize("text", rotating("hostile knowledge", HOSTILE, 3), ids=lambda text: ascii(text[:20]))
async def test_knowledge_named_by_a_hostile_string_is_loaded_and_read_and_exported(stores, text, tmp_path):
    knowledge = knowledge_of(version=text)
    await load_knowledge(stores.documents, stores.graph, knowledge)
    read, _ = await read_knowledge(stores.documents, stores.graph, "shop")
    assert version_of(read) == text
    write_folder(read, tmp_path / "out")
    again, _ = read_knowledge_folder(tmp_path / "out")
    assert list(again.documents()) == list(knowledge.documents())


@pytest.mark.parametrize("text", [*HOSTILE, LONG], ids=lambda text: ascii(text[:20]))
@pytest.mark.parametrize("field", ["outcome_id", "website_id", "transition_id", "recovery_id", "run_id"])
def test_a_hostile_string_in_an_outcome_is_refused_by_its_field(field, text):
    said = {"outcome_id": "o", "website_id": "shop", "succeeded": True, "at": utc_now()}
    if field != "recovery_id":
        said["transition_id"] = "t"
    with pytest.raises(ValidationError) as refused:
        Outcome(**{**said, field: text})
    assert {error["loc"][0] for error in refused.value.errors()} == {field}


def test_the_sample_has_a_text_in_many_places_of_every_kind():
    places = {document["type"]: sum(1 for _ in paths_of(document)) for document in kinds()}
    assert len(places) >= 12
    assert min(places.values()) >= 6, json.dumps(places)
