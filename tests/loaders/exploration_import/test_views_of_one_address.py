"""An application that shows all of its views at one address: what its menu calls differently are screens of their own."""

from __future__ import annotations

from pathlib import Path

from loaders.exploration_import.knowledge_builder import build_knowledge
from tests.support.explored import Drawing, drawing

VIEWS = {
    "Wallet": "<h1>My Wallet</h1><section><h3>Recent</h3><p>Nothing yet</p></section><button>See all</button>",
    "Cards": "<h1>Cards</h1><section><h3>Expired</h3><p>Nothing yet</p></section><button>Link a card</button>",
    "Savings": "<h1>Savings</h1><section><h3>History</h3><p>Nothing yet</p></section><button>See rates</button>",
    "Rewards": "<h1>Rewards</h1><section><h3>History</h3><p>Nothing yet</p></section><button>See offers</button>",
}


def _view(named: str, inside: str) -> str:
    menu = "".join(f"<button>{name}{' 3' if name == 'Cards' else ''}</button>" for name in VIEWS)
    return f"<nav aria-label='Main'>{menu}</nav><main aria-label='{named}'>{inside}</main>"


def _draw(path: Path) -> Drawing:
    seen = drawing(path)
    for name, inside in VIEWS.items():
        seen.page(
            name.lower(), "/", _view(name, inside), "Purse", start=name == "Wallet", openable=name == "Wallet"
        )
    return seen


def test_views_to_which_entries_of_a_menu_lead_are_screens_and_what_shows_their_heading_is_a_state(
    tmp_path: Path,
):
    seen = _draw(tmp_path)
    seen.went("wallet", "Cards 3", "cards")
    seen.went("wallet", "Savings", "savings")
    seen.went("wallet", "Rewards", "rewards")
    seen.page(
        "rates", "/", _view("Savings", "<h1>Savings</h1><h3>Rates</h3><p>4 %</p>"), "Purse", openable=False
    )
    seen.went("savings", "See rates", "rates")
    made = build_knowledge(seen.folder)
    assert sorted(map(sorted, made.screens.values())) == [
        ["cards"], ["rates", "savings"], ["rewards"], ["wallet"]
    ]  # fmt: skip
    assert {each.name for each in made.knowledge.screens.values()} == {
        "My Wallet",
        "Cards",
        "Savings",
        "Rewards",
    }


def test_what_a_button_of_the_page_changes_is_no_view(tmp_path: Path):
    seen = drawing(tmp_path)
    for name in ("all", "open", "closed"):
        chips = "<button>All</button><button>Open</button><button>Closed</button>"
        seen.page(
            name,
            "/",
            f"<main>{chips}<h1>Tickets</h1><h2>{name} tickets</h2><p>None</p></main>",
            "Desk",
            start=name == "all",
        )
    seen.went("all", "Open", "open")
    seen.went("all", "Closed", "closed")
    made = build_knowledge(seen.folder)
    assert [sorted(each) for each in made.screens.values()] == [["all", "closed", "open"]]


def test_an_entry_of_the_menu_leads_from_every_view_where_it_led_from_one(tmp_path: Path):
    seen = _draw(tmp_path)
    for name, entry in (("cards", "Cards 3"), ("savings", "Savings"), ("rewards", "Rewards")):
        seen.went("wallet", entry, name)
    made = build_knowledge(seen.folder)
    ways = {(each.from_screen, each.to_screen) for each in made.knowledge.transitions.values()}
    assert {("cards", "savings"), ("cards", "rewards"), ("rewards", "cards"), ("savings", "rewards")} <= ways
    assert ("cards", "my_wallet") not in ways, "nothing led there"


def test_views_of_a_menu_in_another_script_are_told_apart(tmp_path: Path):
    names = {"wallet": "Кошелёк", "cards": "Карты", "savings": "储蓄", "rewards": "पुरस्कार"}
    seen = drawing(tmp_path)
    for page_id, name in names.items():
        menu = "".join(f"<button>{each}</button>" for each in names.values())
        inside = f"<h1>{name}</h1><section><h3>24</h3><p>—</p></section>"
        html = f"<nav aria-label='Main'>{menu}</nav><main aria-label='{name}'>{inside}</main>"
        seen.page(page_id, "/", html, "Purse", start=page_id == "wallet", openable=page_id == "wallet")
    for page_id in ("cards", "savings", "rewards"):
        seen.went("wallet", names[page_id], page_id)
    made = build_knowledge(seen.folder)
    assert sorted(map(list, made.screens.values())) == [["cards"], ["rewards"], ["savings"], ["wallet"]]
