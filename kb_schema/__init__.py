"""The document models of a knowledge base and the rules it must obey. Imports no other package of ours."""

from kb_schema.assembly import SourcedDocument, assemble
from kb_schema.documents import MODELS, parse_document, parse_fragment
from kb_schema.errors import KnowledgeError, Problem, Severity
from kb_schema.knowledge_base import KnowledgeBase

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
