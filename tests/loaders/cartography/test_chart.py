"""What the cartographer makes of an exploration."""

from __future__ import annotations

from pathlib import Path

import pytest

from loaders.cartography import Chart, chart
from tests.support.explored import Drawing, drawing

NAV = (
    "<header><a href='/'>Quay</a><nav aria-label='Main'><ul>"
    "<li><a id='nav-boats' href='/boats'>Boats</a></li><li><a id='nav-log' href='/log'>Log (3)</a></li></ul></nav></header>"
)


def boats(*rows: tuple[int, str]) -> str:
    shown = "".join(
        f"<tr><td><a href='/boats/{number}'>{name}</a></td><td>{number} m</td></tr>" for number, name in rows
    )
    return (
        f"{NAV}<main><h1>Boats</h1><a href='/boats/new'>Add a boat</a>"
        f"<table><thead><tr><th>Name</th><th>Length</th></tr></thead><tbody>{shown}</tbody></table></main>"
    )


def boat(name: str) -> str:
    return f"{NAV}<main><h1>Boat</h1><dl><dt>Name</dt><dd>{name}</dd></dl><a href='/boats'>Back to boats</a></main>"


FORM = (
    f"{NAV}<main><h1>Add a boat</h1><form method='post' action='/boats/new'>"
    "<label>Name <input id='name' name='name' required></label>"
    "<label>Kind <select id='kind' name='kind'><option value='cutter'>Cutter</option><option value='yawl'>Yawl</option></select></label>"
    "<button id='save'>Save</button></form></main>"
)
LOG = f"{NAV}<main><h1>Log</h1><p>Nothing yet</p></main>"
LOGIN = "<main><h1>Welcome back</h1><form method='post' action='/login'><label>Email <input name='email' id='email'></label><button id='enter'>Sign in</button></form></main>"


def explored(path: Path) -> Drawing:
    """A harbour with two boats, as it was seen by somebody signed in; and where one signs in."""
    seen = drawing(path, ("/boats",))
    seen.page("boats", "/boats", boats((1, "Ada"), (2, "Bea")), start=True)
    seen.page("boats-2", "/boats?page=2", boats((3, "Cleo"), (4, "Dora")))
    seen.page("ada", "/boats/1", boat("Ada"))
    seen.page("bea", "/boats/2", boat("Bea"))
    seen.page("new", "/boats/new", FORM)
    seen.page("log", "/log", LOG)
    seen.page("login", "/login", LOGIN, signed_in=False)
    seen.went("boats", "Ada", "ada", ms=200)
    seen.went("boats", "Bea", "bea", ms=400)
    seen.went("boats", "Add a boat", "new", ms=50)
    seen.went("boats", "Log (3)", "log")
    seen.went("ada", "Back to boats", None, outcome="timeout")
    seen.went("bea", "Back to boats", "boats")
    seen.tried("new", "new", way="reload")
    seen.tried("log", "boats", way="address", ms=70)
    seen.tried("ada", None, outcome="error", way="back")
    return seen


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Chart:
    return chart(explored(tmp_path_factory.mktemp("seen")).folder, name="The Quay")


def test_pages_become_screens_named_from_what_people_see(drawn: Chart) -> None:
    assert {each: set(pages) for each, pages in drawn.screens.items()} == {
        "boats": {"boats", "boats-2"},
        "boat": {"ada", "bea"},
        "add_a_boat": {"new"},
        "log": {"log"},
        "welcome_back": {"login"},
    }
    assert drawn.knowledge.screens["add_a_boat"].name == "Add a boat"
