"""Writes proposals as files for a branch: one YAML file each, with the evidence and a field for the decision.

The reviewer reads the file in a pull request and writes `decision: accept` or `reject`.
`kb_store.proposals.review_decisions` applies decisions, `loaders.files.folder_changes` edits files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue, ValidationError

from kb_schema import KnowledgeBase, KnowledgeError, Problem
from kb_schema.base import LocalId, Model
from kb_schema.documents import describe_invalid_value
from kb_schema.proposals import KnowledgeChange, Proposal, Support, proposal_id
from kb_schema.run_records import Moment
from loaders.diffs.diff_summary import describe_document, to_plain_text
from loaders.diffs.knowledge_diff import changes_between
from loaders.files.folder_layout import SUFFIXES
from loaders.files.yaml_files import read_file, to_yaml, write_whole
from loaders.markup_escapes import one_line

ReviewDecision = Literal["undecided", "accept", "reject"]
MOST_FILES = 10_000
_MOST_SHOWN = 20
_LONGEST = 160


class ProposalFile(Model):
    """The content of a file."""

    decision: ReviewDecision = "undecided"
    proposal_id: str
    website_id: LocalId
    proposed_at: Moment
    change: KnowledgeChange
    before: JsonValue = None
    runs: tuple[Support, ...] = ()

    @property
    def proposal(self) -> Proposal:
        """The proposal in the form of stores."""
        return Proposal(
            proposal_id=self.proposal_id,
            website_id=self.website_id,
            change=self.change,
            before=self.before,
            proposed_at=self.proposed_at,
            supports=self.runs,
        )


@dataclass(frozen=True, slots=True)
class ProposalFileDecision:
    """A file and its content."""

    name: str
    said: ProposalFile


def write_proposals(
    proposals: Sequence[Proposal], folder: Path, knowledge: KnowledgeBase | None = None
) -> list[str]:
    """Write each proposal as a file; return their names. A decision already in a file is kept.

    Raises `KnowledgeError` if such a file is no longer a valid proposal, and `OSError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for proposal in proposals:
        name = file_name(proposal)
        path = folder / name
        decision: ReviewDecision = read_proposal(path, name).decision if path.exists() else "undecided"
        write_whole(path, to_text(proposal, decision, knowledge))
        names.append(name)
    return names


def file_name(proposal: Proposal) -> str:
    """Return `screen-reports-9ab69ec7052b.yaml`: the target of the change, and its id."""
    about = re.sub(r"[^A-Za-z0-9]+", "-", proposal.change.about).strip("-").lower()[:60].rstrip("-")
    return f"{about}-{proposal.proposal_id}.yaml"


def to_text(
    proposal: Proposal, decision: ReviewDecision = "undecided", knowledge: KnowledgeBase | None = None
) -> str:
    """Return the file's text: a description as comments, then the data."""
    data: dict[str, Any] = {
        "decision": decision,
        "proposal_id": proposal.proposal_id,
        "website_id": proposal.website_id,
        "proposed_at": proposal.proposed_at.isoformat(),
        "change": {"type": proposal.change.type, **proposal.change.to_json()},
        **({} if proposal.before is None else {"before": proposal.before}),
        "runs": [each.model_dump(mode="json", exclude_defaults=True) for each in proposal.supports],
    }
    comments = [
        *_words(proposal, knowledge),
        "Write `decision: accept` or `decision: reject`, then",
        "`periplus kb proposals apply` does it.",
    ]
    return "".join(f"# {one_line(line, 400)}\n" for line in comments) + to_yaml(data, compact=True)


def _words(proposal: Proposal, knowledge: KnowledgeBase | None) -> list[str]:
    """Describe what would change."""
    lines = [f"{proposal.change.about[:1].upper()}{proposal.change.about[1:]} of {proposal.website_id}"]
    if knowledge is not None and proposal.change.type == "transition":
        lines.append(to_plain_text(describe_document(proposal.change.transition, knowledge)))
    lines.append(f"{proposal.succeeded} runs support it, {proposal.failed} against")
    what = proposal.change.type
    changes = list(changes_between({what: proposal.before}, {what: proposal.change.proposed_value}))
    if proposal.before is not None:
        for change in changes[:_MOST_SHOWN]:
            before, after = (one_line(str(each), _LONGEST) for each in (change.before, change.after))
            lines.append(f"{change.path}: {before} -> {after}")
        if len(changes) > _MOST_SHOWN:
            lines.append(f"and {len(changes) - _MOST_SHOWN} more values")
    return lines


def read_proposals(folder: Path) -> list[ProposalFileDecision]:
    """Return every proposal of a folder, by name. Raises `KnowledgeError` with every problem of every file."""
    if not folder.is_dir():
        message = "is not a folder" if folder.exists() else "there is no such folder"
        raise KnowledgeError(
            [Problem(message, source=str(folder), fix="`periplus kb proposals export` writes one")]
        )
    files = [file for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES and file.is_file()]
    problems: list[Problem] = []
    found = []
    for file in files[:MOST_FILES]:
        try:
            found.append(ProposalFileDecision(file.name, read_proposal(file, file.name)))
        except KnowledgeError as exc:
            problems += exc.problems
    if len(files) > MOST_FILES:
        problems.append(Problem(f"holds more than {MOST_FILES:,} files", source=str(folder)))
    if problems:
        raise KnowledgeError(problems)
    return found


def read_proposal(path: Path, name: str) -> ProposalFile:
    """Read one file. Raises `KnowledgeError` with the position of each mistake."""
    data = read_file(path, name)
    try:
        content = ProposalFile.model_validate(data)
    except ValidationError as exc:
        fix = "write the file anew with `periplus kb proposals export`"
        raise KnowledgeError(
            [
                Problem(
                    describe_invalid_value(each),
                    path="$" + "".join(f".{part}" for part in each["loc"]),
                    source=name,
                    fix=fix,
                )
                for each in exc.errors()[:10]
            ]
        ) from exc
    if content.proposal_id != proposal_id(content.website_id, content.change):
        fix = "decide on the proposed change; write a different change into the files of the knowledge base"
        raise KnowledgeError(
            [Problem("the change is not the one that was proposed", path="$.change", source=name, fix=fix)]
        )
    return content
