"""Replaces a text in every collection of a MongoDB database, whatever the collections are."""

from __future__ import annotations

import json
from typing import Any

from kb_store.mongodb.connection import MongoConnection, MongoDocument
from kb_store.text_replacement import FoundText, TextReplacement, name_run


async def replace_texts(url: str, replace: TextReplacement, *, dry_run: bool = False) -> list[FoundText]:
    """Replace a text in all documents, in keys too; return the documents that have it.

    A document with the text in binary data is deleted. Raises `StoreUnavailable`.
    """
    connection = MongoConnection(url)
    found: list[FoundText] = []
    try:
        with connection.mapped():
            database = connection.database
            for name in sorted(await database.list_collection_names()):
                if name.startswith("system."):
                    continue
                collection = database.get_collection(name)
                # Read whole before the first write: a changed document could be met again.
                documents = [each async for each in collection.find()]
                for old in documents:
                    new, deleted = _replace_in(old, replace)
                    if new == old and not deleted:
                        continue
                    found.append(FoundText(name, _name(old), _find_run(old), deleted))
                    if dry_run:
                        continue
                    if deleted or new["_id"] != old["_id"]:
                        await collection.delete_one({"_id": old["_id"]})
                    if not deleted:
                        await collection.replace_one(
                            {"_id": new["_id"]}, new, upsert=True, bypass_document_validation=True
                        )
    finally:
        await connection.close()
    return found


def _replace_in(value: Any, replace: TextReplacement) -> tuple[Any, bool]:
    """Return a value with its texts replaced, and whether its binary data has the text."""
    if isinstance(value, str):
        return replace(value), False
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        return value, replace(text) != text
    if isinstance(value, dict):
        parts = {replace(key): _replace_in(each, replace) for key, each in value.items()}
        return {key: each for key, (each, _) in parts.items()}, any(hit for _, hit in parts.values())
    if isinstance(value, list):
        items = [_replace_in(each, replace) for each in value]
        return [each for each, _ in items], any(hit for _, hit in items)
    return value, False


def _name(document: MongoDocument) -> str:
    key = document["_id"]
    return key if isinstance(key, str) else json.dumps(key, default=str, ensure_ascii=False)


def _find_run(document: MongoDocument) -> str:
    key = document["_id"]
    inside = key.get("run_id") if isinstance(key, dict) else None
    return name_run(document.get("run_id") or document.get("thread_id") or inside)
