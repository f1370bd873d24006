"""Makes a knowledge base of an exploration: screens, elements, transitions, groups, recovery edges."""

from loaders.exploration_import.knowledge_builder import ExploredKnowledge, build_knowledge

__all__ = ["ExploredKnowledge", "build_knowledge"]
