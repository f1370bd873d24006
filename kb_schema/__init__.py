"""The document models of a knowledge base and the rules it must obey. Imports no other package of ours.

A name is imported when it is used first: a command that reads no knowledge builds none of the models (decision 0116).
"""

from typing import TYPE_CHECKING

from kb_schema.public_names import import_on_use

if TYPE_CHECKING:
    from kb_schema.assembly import SourcedDocument, assemble
    from kb_schema.documents import MODELS, parse_document, parse_fragment
    from kb_schema.errors import KnowledgeError, Problem, Severity
    from kb_schema.knowledge_base import KnowledgeBase

_MODULES = {
    "MODELS": "documents",
    "KnowledgeBase": "knowledge_base",
    "KnowledgeError": "errors",
    "Problem": "errors",
    "Severity": "errors",
    "SourcedDocument": "assembly",
    "assemble": "assembly",
    "parse_document": "documents",
    "parse_fragment": "documents",
}

__all__ = [
    "MODELS",
    "KnowledgeBase",
    "KnowledgeError",
    "Problem",
    "Severity",
    "SourcedDocument",
    "assemble",
    "parse_document",
    "parse_fragment",
]

__getattr__ = import_on_use(__name__, _MODULES)
