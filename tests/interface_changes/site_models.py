"""Eight small sites of different make: what each says, and how its markup is made.

All have a list with a search, a form that adds an entry, and a dialog that asks before an entry is removed. Words,
order, labels and identifiers differ. `operators.py` changes a copy of a model; `site_server.py` shows it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Label = Literal["for", "around", "aria", "placeholder"]
PARTS = ("open", "search", "find", "name", "kind", "urgent", "note", "save", "act", "remove", "confirm")
FIELDS = ("name", "kind", "urgent", "note")


@dataclass
class Part:
    """One control."""

    words: str
    tag: str = "button"
    id: str = ""
    name: str = ""
    """The name attribute; of a button in a row it is the same in all rows."""
    label: Label = "for"
    test_id: str = ""
    place: str = ""
    """Where it stands, if that is not the usual place: `first` or `last`."""
    icon: bool = False
    removed: bool = False
    dead: bool = False
    forgets: bool = False
    """Does not keep what is entered or chosen."""
    opposite: str = ""
    """A harmful act that stands in its place."""


@dataclass
class SiteModel:
    """Everything a site shows."""

    site: str
    make: str
    noun: str
    parts: dict[str, Part]
    synonyms: dict[str, str]
    """Other words of the parts, with the same meaning."""
    options: list[list[str]]
    """Value and words of each option of `kind`; the second is chosen."""
    rows: list[list[str]]
    """Name and value of the option of each entry; the second one is worked with."""
    entered: str
    list_heading: str
    form_heading: str
    dialog: str
    """`{name}` is the entry."""
    close: str
    created: str
    """`{name}`, `{kind}` and `{urgent}` are filled in."""
    urgent_word: str
    acted: str
    removed: str
    refused: str
    other_act: str
    """A further button of each row."""
    columns: list[str] = field(default_factory=lambda: ["name", "kind"])
    column_words: dict[str, str] = field(default_factory=lambda: {"name": "Name", "kind": "Kind"})
    fields: list[str] = field(default_factory=lambda: list(FIELDS))
    row_buttons: list[str] = field(default_factory=lambda: ["act", "other", "remove"])
    classes: dict[str, str] = field(default_factory=dict)
    """The classes of fields, buttons and boxes."""
    boxes: int = 0
    """In how many more boxes each control is."""
    groups: list[str] = field(default_factory=list)
    """Headings of two groups of fields."""
    beside: dict[str, str] = field(default_factory=dict)
    """Words of a further control that stands before a part."""
    bugs: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def chosen(self) -> list[str]:
        """Value and words of the option that the requirement chooses."""
        return self.options[1]


def _model(
    site: str, make: str, noun: str, words: str, synonyms: str, *, options: str, rows: str, entered: str,
    says: str, other: str, headings: str, urgent_word: str, columns: str, ids: bool, names: bool = True,
    label: Label = "for", search: Label = "placeholder", test_ids: bool = False, open_tag: str = "a",
    classes: dict[str, str] | None = None, fields: tuple[str, ...] = FIELDS,
) -> SiteModel:  # fmt: skip
    said, same = words.split("|"), synonyms.split("|")
    parts = {}
    for key, its in zip(PARTS, said, strict=True):
        part = Part(its, label=search if key == "search" else label)
        if ids and key not in ("act", "remove"):
            part.id = f"{noun}-{key}"
        if names and key in (*FIELDS, "search", "act"):
            part.name = {"search": "q", "name": f"{noun}_name"}.get(key, key)
        if test_ids:
            part.test_id = f"{noun}-{key}"
        parts[key] = part
    parts["open"].tag = open_tag
    created, acted, removed, refused, dialog, close = says.split("|")
    first, second = columns.split("|")
    return SiteModel(
        site, make, noun, parts, dict(zip(PARTS, same, strict=True)),
        options=[[each.lower().replace(" ", "_"), each] for each in options.split("|")],
        rows=[each.split("=") for each in rows.split("|")],
        entered=entered, list_heading=headings.split("|", maxsplit=1)[0], form_heading=headings.split("|")[1], dialog=dialog,
        close=close, created=created, urgent_word=urgent_word, acted=acted, removed=removed, refused=refused,
        other_act=other, column_words={"name": first, "kind": second}, classes=classes or {}, fields=list(fields),
    )  # fmt: skip


_BOOTSTRAP = {
    "box": "mb-3", "field": "form-control", "list": "form-select", "tick": "form-check-input", "button": "btn btn-secondary",
    "save": "btn btn-primary", "table": "table table-striped", "form": "card card-body", "label": "form-label",
}  # fmt: skip
_TAILWIND = {
    "box": "flex flex-col gap-1 mb-4", "field": "rounded border px-2 py-1", "list": "rounded border px-2 py-1",
    "tick": "h-4 w-4", "button": "rounded bg-gray-200 px-3 py-1 hover:bg-gray-300", "save": "rounded bg-sky-700 px-4 py-2 text-white",
    "table": "w-full text-left", "form": "max-w-md p-4 shadow", "label": "text-sm font-medium",
}  # fmt: skip

SITES: dict[str, SiteModel] = {
    each.site: each
    for each in (
        _model(
            "library", "plain", "loan",
            "Lend a book|Title of the book|Find|Reader|Shelf|Reference copy|Remark|Lend|Return|Remove|Yes, remove",
            "New loan|Search for a title|Search|Member|Section|For the reading room only|Comment|Check out|Give back|Delete|Remove it",
            options="Novels|Science|History", rows="Moby Dick=novels|Emma=novels|Cosmos=science", entered="Ann Lee",
            says="Lent to {name} ({kind}{urgent})|{name} was returned|{name} was removed|Enter a reader|Remove {name} from the list?|Keep it",
            other="Renew", headings="Loans|A new loan", urgent_word="reference copy", columns="Book|Shelf", ids=True,
        ),
        _model(
            "samples", "bootstrap", "sample",
            "Add sample|Patient or number|Search|Patient|Material|Urgent|Note|Save|Approve|Discard|Discard sample",
            "New sample|Look up a patient|Find|Person|Type of sample|Express|Remark|Store|Accept|Throw away|Throw sample away",
            options="Serum|Blood|Plasma", rows="Sample 11=serum|Sample 12=blood|Sample 13=plasma", entered="Maria Gomez",
            says="Sample of {name} was saved ({kind}{urgent})|{name} is approved|{name} is gone|A patient is required|Discard {name}?|Cancel",
            other="Print label", headings="Samples|Sample", urgent_word="urgent", columns="Sample|Material", ids=True, search="for",
            open_tag="button", classes=_BOOTSTRAP,
        ),
        _model(
            "rooms", "tailwind", "booking",
            "Book a room|Room|Filter|Your name|Room type|Needs a projector|Message|Reserve|Confirm|Cancel booking|Cancel it",
            "New booking|Name of the room|Show|Booked by|Kind of room|With a projector|Wishes|Book now|Acknowledge|Call off|Call it off",
            options="Hall|Meeting room|Studio", rows="Blue room=hall|Green room=studio|Red room=hall", entered="Jo Park",
            says="Reserved for {name}: {kind}{urgent}|{name} is confirmed|{name} is free again|Your name is missing|Cancel the booking of {name}?|Back",
            other="Details", headings="Bookings|Reserve a room", urgent_word="projector", columns="Room|Room type", ids=False,
            label="around", search="aria", classes=_TAILWIND,
        ),
        _model(
            "contacts", "htmx", "contact",
            "New contact|Search contacts|Go|Full name|Group|Favourite|Notes|Create|Call|Delete|Delete contact",
            "Add a contact|Find people|Search|Name and surname|Category|Starred|Comments|Add|Phone|Remove|Remove contact",
            options="Family|Work|Club", rows="Ada King=family|Ben Moss=work|Cy Hall=club", entered="Dora Finn",
            says="{name} was created in {kind}{urgent}|Calling {name}|{name} was deleted|Full name is required|Delete {name}?|No",
            other="Copy", headings="Contacts|Contact", urgent_word="favourite", columns="Person|Group", ids=False, label="around",
            open_tag="button", fields=("kind", "name", "note", "urgent"),
        ),
        _model(
            "expenses", "react", "expense",
            "Add expense|Search expenses|Apply|Purpose|Category|Paid by card|Comment|Submit|Reimburse|Withdraw|Withdraw expense",
            "New expense|Find an expense|Filter|Reason|Cost type|Card payment|Remark|Send|Pay back|Take back|Take expense back",
            options="Travel|Meals|Books", rows="Taxi=travel|Lunch=meals|Train=travel", entered="Team dinner",
            says="{name} was submitted as {kind}{urgent}|{name} is reimbursed|{name} is withdrawn|Purpose must not be empty|Withdraw {name}?|Not now",
            other="Show receipt", headings="Expenses|Your expense", urgent_word="card", columns="Purpose|Category", ids=True,
            test_ids=True, open_tag="button",
        ),
        _model(
            "recipes", "vue", "recipe",
            "Write a recipe|What would you like to eat?|Look|Dish|Course|Vegetarian|Hint|Publish|Cook|Remove|Remove recipe",
            "New recipe|Which dish?|Search|Name of the dish|Part of the meal|Without meat|Tip|Post|Prepare|Delete|Delete recipe",
            options="Starter|Main course|Dessert", rows="Soup=starter|Curry=main_course|Cake=dessert", entered="Lentil stew",
            says="{name} is published ({kind}{urgent})|Now cooking {name}|{name} is removed|A dish needs a name|Really remove {name}?|Oh no",
            other="Share", headings="Recipes|Recipe", urgent_word="vegetarian", columns="Dish|Course", ids=False, names=False,
            label="placeholder", open_tag="button",
        ),
        _model(
            "tickets", "mui", "ticket",
            "Open ticket|Search tickets|Filter|Subject|Priority|Notify me|Description|Send|Assign|Close|Close ticket",
            "New ticket|Find tickets|Search|Summary|Urgency|Keep me informed|Details|Submit|Take over|Finish|Finish ticket",
            options="Low|High|Blocker", rows="Printer=low|Login=high|Mail=low", entered="No network",
            says="Ticket {name} was sent ({kind}{urgent})|{name} is assigned|{name} is closed|Subject is required|Close {name}?|Leave it open",
            other="Watch", headings="Tickets|Ticket", urgent_word="notify", columns="Subject|Priority", ids=True, search="for",
            open_tag="button",
        ),
        _model(
            "stock", "antd", "item",
            "Register item|Search the stock|Show|Article|Warehouse|Fragile|Storage note|Register|Order more|Scrap|Scrap item",
            "Add item|Find in stock|Search|Product|Location|Breakable|Where to store|Add to stock|Reorder|Write off|Write item off",
            options="North|South|Harbour", rows="Bolts=north|Glass=south|Ropes=harbour", entered="Brass lamps",
            says="{name} is registered in {kind}{urgent}|{name} was ordered|{name} was scrapped|Please name the article|Scrap {name}?|Go back",
            other="Count", headings="Stock|New item", urgent_word="fragile", columns="Article|Warehouse", ids=True,
            open_tag="button",
        ),
    )
}  # fmt: skip
