"""One entry of the audit log, its hash, and the digests that allow to erase its texts.

The hash of an entry covers its number, time, action and outcome, the hash of the entry before it, and a salted
digest of each text. So a text, with its salt, can be erased without breaking the chain of hashes, and cannot be
guessed from what is left.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from pydantic import AwareDatetime, Field

from kb_schema.base import Model

AuditAction = Literal[
    "run_submitted",
    "run_cancelled",
    "run_finished",
    "job_submitted",
    "job_cancelled",
    "schedule_changed",
    "webhook_changed",
    "proposal_accepted",
    "proposal_rejected",
    "element_accepted",
    "knowledge_changed",
    "workflow_published",
    "workflow_rolled_back",
    "room_link_made",
    "visit_link_made",
    "visit_link_revoked",
    "visit_opened",
    "lead_stored",
    "leads_read",
    "artifact_opened",
    "signed_in",
    "sign_in_failed",
    "locked_out",
    "signed_out",
    "secret_used",
    "token_made",
    "token_revoked",
    "person_erased",
    "records_pruned",
    "audit_opened",
    "audit_exported",
    "audit_pruned",
]
ACTIONS: tuple[AuditAction, ...] = get_args(AuditAction)
BEGINNING = "0" * 64
"""`previous` of the first entry."""
LONGEST = 500
"""Characters of a text; a longer one ends in an ellipsis."""
SALT_BYTES = 16

Interval = tuple[int, int]
"""The first and the last of some entry numbers."""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """What happened, before it is an entry."""

    action: AuditAction
    actor: str
    about: str = ""
    """What was done something with: a run, a proposal, a file."""
    outcome: str = "done"
    website: str = ""
    request_id: str = ""
    covers: tuple[Interval, ...] = ()
    covered_hash: str = ""


class SealedText(Model):
    """A text with a salted digest; text and salt are None once the text is erased."""

    text: str | None
    salt: str | None
    digest: str

    @classmethod
    def seal(cls, text: str) -> SealedText:
        """Return a text with a new salt."""
        salt = secrets.token_hex(SALT_BYTES)
        return cls(text=text, salt=salt, digest=_digest(salt, text))

    @property
    def unchanged(self) -> bool:
        """Whether the text is the one that was sealed, or is erased."""
        if self.text is None or self.salt is None:
            return self.text is None and self.salt is None
        return _digest(self.salt, self.text) == self.digest

    def erase(self) -> SealedText:
        """Return it without its text."""
        return SealedText(text=None, salt=None, digest=self.digest)


class AuditEntry(Model):
    """One line of the audit log."""

    number: int = Field(ge=1)
    time: AwareDatetime
    action: str
    outcome: str
    actor: SealedText
    about: SealedText
    website: SealedText
    request_id: SealedText
    covers: tuple[Interval, ...] = ()
    """`person_erased`: the entries whose texts were erased. `audit_pruned`: the entries that were deleted."""
    covered_hash: str = ""
    """`audit_pruned`: the hash of the last deleted entry."""
    previous: str
    """The hash of the entry before."""
    hash: str

    @classmethod
    def chain(cls, event: AuditEvent, number: int, previous: str, time: datetime | None = None) -> AuditEntry:
        """Return the entry of an event after the entry with the hash `previous`."""
        entry = cls(
            number=number,
            time=(time or datetime.now(UTC)).astimezone(UTC),
            action=event.action,
            outcome=event.outcome,
            actor=SealedText.seal(event.actor),
            about=SealedText.seal(event.about),
            website=SealedText.seal(event.website),
            request_id=SealedText.seal(event.request_id),
            covers=event.covers,
            covered_hash=event.covered_hash,
            previous=previous,
            hash="",
        )
        return entry.model_copy(update={"hash": entry.compute_hash()})

    def compute_hash(self) -> str:
        """Return the hash of the entry as it is now."""
        said = [
            self.number,
            self.time.astimezone(UTC).isoformat(),
            self.action,
            self.outcome,
            [each.digest for each in self.texts()],
            [list(each) for each in self.covers],
            self.covered_hash,
            self.previous,
        ]
        return hashlib.sha256(json.dumps(said, separators=(",", ":")).encode()).hexdigest()

    def texts(self) -> tuple[SealedText, SealedText, SealedText, SealedText]:
        """Return the texts that can be erased."""
        return self.actor, self.about, self.website, self.request_id

    @property
    def erased(self) -> bool:
        """Whether a text is erased."""
        return any(each.text is None for each in self.texts())

    def to_line(self) -> str:
        """Return the entry as one line of JSON, without the line break."""
        return self.model_dump_json()

    def to_view(self) -> dict[str, object]:
        """Return the entry as people and programs read it; an erased text is None."""
        return {
            "number": self.number,
            "time": self.time.astimezone(UTC).isoformat(),
            "actor": self.actor.text,
            "action": self.action,
            "about": self.about.text,
            "outcome": self.outcome,
            "website": self.website.text,
            "request_id": self.request_id.text,
            "hash": self.hash,
        }


def _digest(salt: str, text: str) -> str:
    return hashlib.sha256(f"{salt}:{text}".encode("utf-8", "replace")).hexdigest()
