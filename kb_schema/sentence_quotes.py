"""The texts in quotes of a sentence: `'Ruth's phone'` is one, and an apostrophe neither begins nor ends one."""

from __future__ import annotations

import re

QUOTED_TEXT = (
    r"""["\u201c](?P<double>[^"\u201c\u201d]*)["\u201d]"""
    r"""|(?<!\w)['\u2018](?P<single>(?:[^'\u2018\u2019]|(?<=\w)['\u2019](?=\w))+)['\u2019](?!\w)"""
)
"""Pattern of a text in double or single quotes; the text is in one of its two groups."""
_QUOTED = re.compile(QUOTED_TEXT)


def list_quotes(sentence: str) -> list[str]:
    """Return the texts in quotes of a sentence, in order, without the quotes.

    >>> list_quotes('''Let Anna's boat "Skua" be called 'Ruth's phone' on Ben's list''')
    ['Skua', "Ruth's phone"]
    """
    return [text for found in _QUOTED.finditer(sentence) if (text := found["double"] or found["single"])]


def remove_quotes(sentence: str) -> str:
    """Return a sentence without its texts in quotes.

    >>> remove_quotes("Add the comment 'How's that?' to Ruth's post and Ben's").split()
    ['Add', 'the', 'comment', 'to', "Ruth's", 'post', 'and', "Ben's"]
    """
    return _QUOTED.sub(" ", sentence)
