"""A website below a folder of its host gets the map that it has at the root."""

from __future__ import annotations

from pathlib import Path

import pytest

from loaders.exploration_import.knowledge_builder import build_knowledge
from tests.support.explored import drawing

KINDS = ("issue", "user", "file", "msg")
FIELDS = {
    "issue": "<label>Title <input name='title'></label><label>Priority <input name='priority'></label>",
    "user": "<label>Real name <input name='name'></label><label>Phone <input name='phone'></label>",
    "file": "<label>File type <input name='type'></label><p>Uploaded by</p>",
    "msg": "<p>Recipients</p><p>Inreplyto</p>",
}


def _map(path: Path, below: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Draw a tracker whose lists link to more than a dozen pages; return its pages and its patterns by screen."""
    drawn = drawing(path, (f"{below}/",))
    rows = "".join(
        f"<tr><td><a href='{below}/{kind}{n}'>{kind} {n} of the list</a></td></tr>"
        for kind in KINDS
        for n in range(1, 8)
    )
    menu = f"<nav><a href='{below}/issue'>Issues</a> <a href='{below}/user'>People</a></nav>"
    drawn.page("p0001", f"{below}/", f"{menu}<h1>Start</h1><table>{rows}</table>", "Start", start=True)
    drawn.page("p0002", f"{below}/issue", f"{menu}<h1>All issues</h1><form><input name='q'></form>", "Issues")
    drawn.page("p0003", f"{below}/user", f"{menu}<h1>People</h1><table><th>Login</th></table>", "People")
    for at, kind in enumerate(KINDS):
        for n in (1, 2):
            form = f"<form method='post'>{FIELDS[kind]}<button>Submit Changes</button></form>"
            drawn.page(
                f"p01{at}{n}", f"{below}/{kind}{n}", f"{menu}<h1>{kind.title()} {n}</h1>{form}", f"{kind} {n}"
            )
    made = build_knowledge(drawn.folder)
    screens = made.knowledge.screens
    return (
        {screen: sorted(pages) for screen, pages in made.screens.items()},
        {
            screen: sorted(each.replace(below, "") for each in screens[screen].url_patterns)
            for screen in screens
        },
    )


@pytest.mark.parametrize("below", ["/quay", "/web/app"])
def test_a_website_below_a_folder_has_the_map_that_it_has_at_the_root(tmp_path: Path, below: str) -> None:
    assert _map(tmp_path / "below", below) == _map(tmp_path / "root", "")
