"""Every version leads to the next, shown on a kept sample of each."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import KnowledgeError, parse_document
from kb_schema.base import SCHEMA_VERSION
from kb_schema.migrations import MIGRATIONS, NewerSchemaVersion, upgrade
from kb_schema.migrations.migration_registry import migration, refuse_newer
from loaders.files.folder_reader import knowledge_files, read_file
from tests.kb_schema import ks_examples

SAMPLES = Path(__file__).parents[1] / "data" / "migrations"
SEEDS = Path(__file__).parents[2] / "seeds"


def sample(version, name):
    return json.loads((SAMPLES / f"v{version}" / f"{name}.json").read_text(encoding="utf-8"))


def names(version):
    return sorted(path.stem for path in (SAMPLES / f"v{version}").glob("*.json"))


def test_there_is_a_migration_from_every_older_version_and_a_sample_of_every_version():
    assert sorted(MIGRATIONS) == list(range(SCHEMA_VERSION))
    kept = {path.name for path in SAMPLES.iterdir()}
    assert kept == {f"v{version}" for version in range(SCHEMA_VERSION + 1)}
    for version in range(SCHEMA_VERSION):
        assert names(version)
        assert set(names(version)) <= set(names(version + 1))


@pytest.mark.parametrize(("version", "name"), [(v, name) for v in range(SCHEMA_VERSION) for name in names(v)])
def test_a_sample_becomes_the_sample_of_the_next_version(version, name):
    migrated = MIGRATIONS[version](sample(version, name)) | {"schema_version": version + 1}
    assert migrated == sample(version + 1, name)


@pytest.mark.parametrize("name", names(SCHEMA_VERSION))
def test_the_newest_samples_are_documents_and_stay_as_they_are(name):
    body = sample(SCHEMA_VERSION, name)
    assert parse_document(body).schema_version == SCHEMA_VERSION
    again = upgrade(body)
    assert (again.document, again.from_version, again.to_version) == (body, SCHEMA_VERSION, SCHEMA_VERSION)


@pytest.mark.parametrize("name", ks_examples.DOCUMENTS)
def test_a_document_of_ks_means_the_same_before_and_after(name):
    body = ks_examples.document(name)
    done = upgrade(body)
    assert (done.from_version, done.to_version) == (0, SCHEMA_VERSION)
    assert parse_document(done.document) == parse_document(body)
    assert body == ks_examples.document(name)


def test_every_document_of_the_seeds_means_the_same_before_and_after():
    count = 0
    for file in knowledge_files(SEEDS / "spadeworks" / "kb"):
        data = read_file(file, file.name)
        for body in data if isinstance(data, list) else [data]:
            try:
                before = parse_document(body)
            except KnowledgeError:  # its type is said by its folder only
                continue
            assert parse_document(upgrade(body).document) == before
            count += 1
    assert count > 50


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
keys = st.sampled_from(
    ["type", "_id", "_key", "_from", "_to", "screen_id", "group_id", "metadata", "steps", "schema_version"]
)
values = json_values | st.sampled_from(
    ["screen", "presentation", "belongs_to", "groups/x", "screens/a", "screen:a", "a", "composes"]
)


@settings(deadline=None)
@given(st.dictionaries(keys, values, max_size=6))
def test_any_json_is_migrated_without_harm_to_it_or_refused_as_too_new(body):
    before = copy.deepcopy(body)
    try:
        done = upgrade(body)
    except NewerSchemaVersion as exc:
        assert exc.version > SCHEMA_VERSION  # noqa: PT017 - one of two ways
        return
    assert body == before
    assert upgrade(done.document).document == done.document
    try:
        parsed = parse_document({**body, "schema_version": SCHEMA_VERSION})
    except KnowledgeError:
        return
    if done.from_version == 0:
        assert parse_document(done.document) == parsed


def test_an_id_that_contradicts_the_document_is_left_for_the_parser_to_refuse():
    body = {"_id": "screen/one", "screen_id": "two", "name": "Two"}
    with pytest.raises(KnowledgeError, match="but the document's id is"):
        parse_document(upgrade(body).document)


@pytest.mark.parametrize("version", ["1", 1.5, True, -1, None])
def test_a_version_that_is_none_is_left_for_the_parser_to_refuse(version):
    body = {"type": "screen", "screen_id": "one", "name": "One", "schema_version": version}
    assert upgrade(body).document == body


def test_a_newer_version_is_one_clear_error_however_many_documents_have_it():
    with pytest.raises(NewerSchemaVersion, match=f"schema_version 7.*up to {SCHEMA_VERSION}.*newer Periplus"):
        upgrade({"type": "screen", "schema_version": 7})
    with pytest.raises(NewerSchemaVersion, match="3 documents are of schema_version 7") as refused:
        refuse_newer([(7, "a.yaml"), (1, "b.yaml"), (7, "c.yaml"), (8, "d.yaml")])
    assert (refused.value.version, refused.value.documents, len(refused.value.problems)) == (7, 3, 1)


def test_two_migrations_from_one_version_are_a_mistake():
    with pytest.raises(ValueError, match="two migrations from version 0"):
        migration(0)(dict)
