"""What a load and a read keep in memory beside the knowledge itself: one batch, and the unparsed records of one store."""

from __future__ import annotations

from kb_store import (
    knowledge_reader,
    knowledge_records,
    load_knowledge,
    open_stores,
    read_knowledge,
    record_parser,
)
from tests.kb_store.sample_knowledge import knowledge_of, version_of

BATCH = 6


async def test_a_load_makes_its_records_batch_by_batch(tmp_path, monkeypatch):
    made, most = 0, 0
    text = knowledge_records.DocumentBody.text

    def counting(body):
        nonlocal made
        made += 1
        return text(body)

    def told(progress):
        nonlocal most
        most = max(most, made - progress.written)

    monkeypatch.setattr(knowledge_records.DocumentBody, "text", counting)
    knowledge = knowledge_of(screens=50)
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge, batch=BATCH, on_progress=told)
    assert made > 10 * BATCH
    assert most <= BATCH


async def test_a_read_parses_each_record_as_it_comes(tmp_path, monkeypatch):
    waiting: set[int] = set()
    most = 0

    class Counting(record_parser.RecordParser):
        def add(self, record, **seen):
            super().add(record, **seen)
            waiting.discard(id(record.body))

    monkeypatch.setattr(knowledge_reader, "RecordParser", Counting)
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="all", screens=50))
        split = stores.documents.split

        def watched(raw):
            nonlocal most
            local_id, body = split(raw)
            waiting.add(id(body))
            most = max(most, len(waiting))
            return local_id, body

        monkeypatch.setattr(stores.documents, "split", watched)
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
    assert version_of(knowledge) == "all"
    assert most == 1
