"""The models inside all documents that rules check, found in one pass: most of a large website's time is spent on looking for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from kb_schema.base import Document
from kb_schema.conditions import JudgedText
from kb_schema.error_handling import ErrorRecovery, ErrorRule
from kb_schema.graph_documents import ErrorState
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.nested_models import ModelFinder
from kb_schema.rules.reference_checks import CHECKS
from kb_schema.rules.reference_fields import REFERENCES

_FINDER = ModelFinder(*REFERENCES, *CHECKS, JudgedText, ErrorRule, ErrorRecovery, ErrorState)


class CheckedModels:
    """Each document with its models of the types that rules check, in the order of `KnowledgeBase.documents`."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self._found = [(document, _FINDER.find(document)) for document in knowledge.documents()]
        self._holders: defaultdict[type[BaseModel], list[Document]] = defaultdict(list)
        for document, nodes in self._found:
            for model in set(map(type, nodes)):
                self._holders[model].append(document)

    def __iter__(self) -> Iterator[tuple[Document, Sequence[BaseModel]]]:
        """Yield each document and its models, itself included."""
        return iter(self._found)

    def holders(self, *models: type[BaseModel]) -> Sequence[Document]:
        """Return the documents that contain a model of these types, subclasses included. They must be among those that rules check."""
        found = {
            id(document): document
            for model, own in self._holders.items()
            if issubclass(model, models)
            for document in own
        }
        return [*found.values()]
