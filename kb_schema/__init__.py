"""The vocabulary: what a knowledge base may say, and its rules. Imports nothing of Periplus."""

from kb_schema.documents import MODELS, parse_document, parse_fragment
from kb_schema.errors import KnowledgeError, Problem, Severity
from kb_schema.knowledge import KnowledgeBase, Sourced, assemble

__all__ = [
    "MODELS",
    "KnowledgeBase",
    "KnowledgeError",
    "Problem",
    "Severity",
    "Sourced",
    "assemble",
    "parse_document",
    "parse_fragment",
]
