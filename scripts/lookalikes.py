"""Writes `agent/dangers/lookalikes.json`: letters of other alphabets that look like a Latin one.

The data is that of the Unicode consortium (`confusables.txt`), as the package `confusable-homoglyphs` carries it:
`pip install confusable-homoglyphs==3.3.1 && python scripts/lookalikes.py`. Only letters that Unicode's own compatibility forms
(NFKC) do not make Latin are kept, each with the one letter that it looks like, of its own case where there is a choice. The data
does not tell I from l: a capital is the capital.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import confusable_homoglyphs

SOURCE = Path(confusable_homoglyphs.__file__).with_name("confusables.json")
TARGET = Path(__file__).parents[1] / "agent/dangers/lookalikes.json"


def find_latin(letter: str, alike: list[str]) -> str | None:
    """Return the ASCII letter that a letter looks like; None without one."""
    plain = sorted(each for each in alike if len(each) == 1 and each.isascii() and each.isalpha())
    upper = letter.isupper()
    found = next((each for each in plain if each.isupper() == upper), next(iter(plain), None))
    return "I" if upper and found == "l" else found


def main() -> None:
    """Write the file."""
    known = json.loads(SOURCE.read_text(encoding="utf-8"))
    found = {}
    for letter, others in known.items():
        if len(letter) != 1 or letter.isascii() or not unicodedata.category(letter).startswith("L"):
            continue
        if unicodedata.normalize("NFKC", letter) != letter or unicodedata.name(letter, "").startswith(
            "LATIN"
        ):
            continue
        latin = find_latin(letter, [each["c"] for each in others])
        if latin is not None:
            found[letter] = latin
    TARGET.write_text(
        json.dumps(dict(sorted(found.items())), ensure_ascii=True, indent=0) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
