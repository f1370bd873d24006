"""Proposals in MongoDB: one document each; a run's support is added in one atomic update.

Bodies are kept as JSON text, because a selector's notes may have any key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from pymongo.errors import DuplicateKeyError

from kb_schema.fingerprints import Fingerprint
from kb_schema.proposals import MAX_SUPPORTS, Proposal, ProposalStatus, Support
from kb_store.mongodb.connection import MongoConnection, counts_by
from kb_store.mongodb.database_schema import plan_collections, prepare
from kb_store.proposals.proposal_store import in_order, parse_stored_proposal, with_supports
from kb_store.store_setup import CollectionSetup

PROPOSALS, REVISIONS, FINGERPRINTS = "proposals", "proposal_revisions", "element_fingerprints"

VALIDATORS: Mapping[str, Mapping[str, Any]] = {
    PROPOSALS: {
        "required": ["status", "body", "supports"],
        "properties": {
            "status": {"enum": list(get_args(ProposalStatus))},
            "decided_at": {"bsonType": ["string", "null"]},
            "body": {"bsonType": "string"},
            "supports": {"bsonType": "array", "maxItems": MAX_SUPPORTS},
        },
    },
    REVISIONS: {"properties": {"revision": {"bsonType": ["int", "long"], "minimum": 0}}},
    FINGERPRINTS: {"required": ["body"], "properties": {"body": {"bsonType": "string"}}},
}
"""The validator, which refuses invalid manual edits."""


class MongoProposalStore:
    """`ProposalStore` on a `MongoConnection`, usually the one of the documents.

    The website's revision is raised after the write. If the process dies in between, no proposal is lost, and
    running servers see it with the next one.
    """

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection

    async def prepare(self) -> None:
        """Do nothing: MongoDB creates collections at the first write, and `_id` is the only index."""

    async def initialise(self) -> list[CollectionSetup]:
        """Create the collections with their validators; report what was created or found."""
        return await prepare(self._connection, plan_collections(dict.fromkeys(VALIDATORS, ()), VALIDATORS))

    async def support(self, proposal: Proposal, support: Support | None) -> bool:
        """See `ProposalStore`."""
        key = _key(proposal.website_id, proposal.proposal_id)
        body = proposal.model_dump(mode="json", by_alias=True, exclude={"supports"})
        fresh: dict[str, Any] = {
            "status": proposal.status,
            "decided_at": body["decided_at"],
            "body": json.dumps(body),
            "supports": [],
        }
        async with self._connection.asking() as database:
            collection = database[PROPOSALS]
            try:
                made = await collection.update_one({"_id": key}, {"$setOnInsert": fresh}, upsert=True)
                changed = made.upserted_id is not None
            except DuplicateKeyError:  # another process created it at the same moment
                changed = False
            added = False
            if support is not None:
                once = {
                    "_id": key,
                    "supports.run_id": {"$ne": support.run_id},
                    f"supports.{MAX_SUPPORTS - 1}": {"$exists": False},
                }
                entry = {"run_id": support.run_id, "body": json.dumps(support.model_dump(mode="json"))}
                done = await collection.update_one(once, {"$push": {"supports": entry}})
                added = done.modified_count == 1
        if changed or added:
            await self._raise_revision(proposal.website_id)
        return added

    async def decide(self, website_id: str, proposal_id: str, status: ProposalStatus, at: datetime) -> bool:
        """See `ProposalStore`."""
        async with self._connection.asking() as database:
            done = await database[PROPOSALS].update_one(
                {"_id": _key(website_id, proposal_id)},
                {"$set": {"status": status, "decided_at": at.isoformat()}},
            )
        if done.matched_count:
            await self._raise_revision(website_id)
        return bool(done.matched_count)

    async def proposal(self, website_id: str, proposal_id: str) -> Proposal | None:
        """See `ProposalStore`."""
        async with self._connection.asking() as database:
            found = await database[PROPOSALS].find_one({"_id": _key(website_id, proposal_id)})
        return None if found is None else _proposal(found)

    async def proposals(self, website_id: str | None = None) -> Sequence[Proposal]:
        """See `ProposalStore`."""
        wanted = {} if website_id is None else _of(website_id)
        async with self._connection.asking() as database:
            return in_order([_proposal(found) async for found in database[PROPOSALS].find(wanted)])

    async def counts(self, website_id: str) -> Mapping[ProposalStatus, int]:
        """Count over the website's keys."""
        async with self._connection.asking() as database:
            return await counts_by(database[PROPOSALS], _of(website_id), "status")

    async def put_fingerprint(
        self, website_id: str, screen_id: str, element_id: str, fingerprint: Fingerprint
    ) -> bool:
        """See `ProposalStore`."""
        key = {"website_id": website_id, "screen_id": screen_id, "element_id": element_id}
        body = json.dumps(fingerprint.to_json(), sort_keys=True)
        async with self._connection.asking() as database:
            done = await database[FINGERPRINTS].update_one(
                {"_id": key}, {"$set": {"body": body}}, upsert=True
            )
        changed = done.upserted_id is not None or done.modified_count == 1
        if changed:
            await self._raise_revision(website_id)
        return changed

    async def fingerprints(self, website_id: str) -> Mapping[tuple[str, str], Fingerprint]:
        """See `ProposalStore`."""
        # Keys are compared field by field: those of a website are adjacent.
        wanted = {"_id": {"$gte": {"website_id": website_id}, "$lt": {"website_id": f"{website_id}\0"}}}
        async with self._connection.asking() as database:
            return {
                (found["_id"]["screen_id"], found["_id"]["element_id"]): Fingerprint.model_validate_json(
                    found["body"]
                )
                async for found in database[FINGERPRINTS].find(wanted)
                if found["_id"]["website_id"] == website_id
            }

    async def revision(self, website_id: str) -> str:
        """Read one document by its id."""
        async with self._connection.asking() as database:
            found = await database[REVISIONS].find_one({"_id": website_id})
        return str(found["revision"]) if found else "0"

    async def _raise_revision(self, website_id: str) -> None:
        async with self._connection.asking() as database:
            await database[REVISIONS].update_one({"_id": website_id}, {"$inc": {"revision": 1}}, upsert=True)


def _key(website_id: str, proposal_id: str) -> dict[str, str]:
    return {"website_id": website_id, "proposal_id": proposal_id}


def _of(website_id: str) -> dict[str, Any]:
    """Return a range with all keys of a website: `_id` is compared field by field."""
    return {"_id": {"$gte": _key(website_id, ""), "$lt": _key(website_id, "~")}}


def _proposal(document: Mapping[str, Any]) -> Proposal:
    now = {"status": document["status"], "decided_at": document["decided_at"]}
    supports = [Support.model_validate_json(each["body"]) for each in document["supports"]]
    return with_supports(parse_stored_proposal(json.loads(document["body"]) | now), supports)
