"""The document models of a knowledge base and the rules it must obey. Imports no other package of ours.

A name is imported when it is used first: a command that reads no knowledge builds none of the models (decision 0116).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """Import a public name when it is used first."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
