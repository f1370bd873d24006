"""All screens of a site at once: which pages are one (`screens_of`), and how each is known (`learn_all`)."""

from loaders.signatures.grouping import screens_of
from loaders.signatures.learning import Learned, LearnedScreens, NotLearned, learn_all

__all__ = ["Learned", "LearnedScreens", "NotLearned", "learn_all", "screens_of"]
