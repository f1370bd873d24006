"""Builds a checked `KnowledgeBase` from the documents of one website."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kb_schema.base import Document
from kb_schema.errors import KnowledgeError, Problem, Severity
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.rules import check
from kb_schema.websites import Website


@dataclass(frozen=True, slots=True)
class SourcedDocument:
    """A document and the file it came from."""

    document: Document
    source: str | None = None


def assemble(
    documents: Iterable[SourcedDocument], *, without_secrets: Collection[tuple[str, str]] = ()
) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
    """Return one website's documents as a checked knowledge base, and the warnings.

    `without_secrets`: kind and id of documents whose JSON was seen to have no `{secret:`.

    Raises `KnowledgeError` with every problem: duplicate ids, a missing website document, broken references
    and violations of the three rules of KS 10.
    """
    documents = list(documents)
    problems: list[Problem] = []
    websites = [s for s in documents if isinstance(s.document, Website)]
    if len(websites) != 1:
        sources = ", ".join(s.source or "?" for s in websites)
        message = "no website document" if not websites else f"{len(websites)} website documents: {sources}"
        raise KnowledgeError(
            [Problem(message, fix="a knowledge base has exactly one document of type `website`")]
        )
    website = websites[0].document
    assert isinstance(website, Website)  # noqa: S101 - narrows the type the filter above guarantees
    by_kind: dict[str, dict[str, Document]] = {}
    sources_of: dict[tuple[str, str], str] = {}
    website_id = website.website_id
    for item in documents:
        document = item.document
        kind, local_id = key = (document.kind, document.local_id)
        if document.website_id != website_id and document.website_id is not None:
            problems.append(
                Problem(
                    f"belongs to website {document.website_id!r}, not {website.website_id!r}",
                    path="$.website_id",
                    document=f"{kind}:{local_id}",
                    source=item.source,
                    fix="one folder holds one website",
                    rule="references",
                )
            )
        own = by_kind.setdefault(kind, {})
        if local_id in own:
            problems.append(
                Problem(
                    f"duplicate {kind} id {local_id!r}",
                    document=f"{kind}:{local_id}",
                    source=item.source,
                    fix=f"rename one; the other is in {sources_of.get(key, 'the same load')}",
                    rule="references",
                )
            )
            continue
        if document.website_id is None:
            document = document.model_copy(update={"website_id": website.website_id})
        own[local_id] = document
        if item.source is not None:
            sources_of[key] = item.source
    knowledge = KnowledgeBase(website=website, by_kind=by_kind, sources=sources_of)
    problems += check(knowledge, without_secrets=without_secrets)
    if any(p.severity is Severity.ERROR for p in problems):
        raise KnowledgeError(problems)
    return knowledge, tuple(problems)
