"""Which offers of a page, and which requests, would change something on a site that is only looked at.

Two doors, one behind the other. `danger_of` judges a control before it is touched: by what it is called, by the
form it belongs to, by what its address says, by attributes that name a method. `danger_of_request` judges what
the browser is about to send, whatever was touched: only GET, HEAD and OPTIONS pass, and no address that says
it deletes or signs out. A link that is opened by GET passes the second door, so that for links the first is
strict (decision 42). Words and conventions are data: `dangers.yaml`.

Not here: where an exploration may go (origins, robots), and touching anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agent.mapping.danger_addresses import danger_in_address, path_of
from agent.mapping.danger_words import Convention, danger_book, danger_in_code, danger_in_words, plain
from kb_schema import urls
from kb_schema.mapping import Danger, Offer

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""RFC 9110, 9.2.1: those that are meant to change nothing (TRACE is of no use here)."""
_SAFE_FORMS = frozenset({"", "GET", "DIALOG"})
_METHOD_MARKS = (
    "data-method",
    "data-turbo-method",
    "data-http-method",
    "data-verb",
    "data-type-method",
    "up-method",
)
_POSTING_MARKS = (
    "hx-post",
    "hx-put",
    "hx-patch",
    "hx-delete",
    "ic-post-to",
    "ic-put-to",
    "ic-delete-from",
    "ping",
)
_POSTING_ADDRESSES = (
    "data-delete",
    "data-delete-url",
    "data-remove-url",
    "data-post",
    "data-put",
    "data-patch",
)
"""Marks of sites' own scripts, where their value is an address: `data-post="17"` names a post."""
_ASKING_MARKS = (
    "data-confirm",
    "data-turbo-confirm",
    "hx-confirm",
    "up-confirm",
    "wire:confirm",
    "data-confirmation",
)
_OPENING_ROLES = frozenset({"dialog", "menu", "listbox", "tree", "grid", "true"})
_OPENING_TOGGLES = frozenset(
    {"modal", "dropdown", "offcanvas", "collapse", "tooltip", "popover", "tab", "pill"}
)
_OPENING_COMMANDS = frozenset(
    {"show-modal", "show-popover", "toggle-popover", "hide-popover", "close", "request-close"}
)
_SUBMITTING = frozenset({"submit", "image"})
_INPUT_BUTTONS = frozenset({"button", "submit", "image", "reset"})
_PRESSED_ROLES = frozenset({"button", "menuitem", "switch", "menuitemcheckbox", "menuitemradio"})
_FIELD_TAGS = frozenset({"input", "select", "textarea"})
_HANDLERS = ("on", "@", "v-on:", "x-on:", "ng-", "(", "wire:", "data-action", "data-on")


@dataclass(frozen=True, slots=True)
class FormFacts:
    """The form a control belongs to, with what the control itself overrides (`formmethod`, `formaction`)."""

    method: str = "GET"
    action: str = ""
    override: str = ""
    """A hidden field `_method`: what the method is taken for on the server."""

    @property
    def looks(self) -> bool:
        """Whether sending it is meant to change nothing."""
        return self.method.upper() in _SAFE_FORMS and self.override.upper() in _SAFE_FORMS

    @property
    def verb(self) -> str:
        """The method it comes to."""
        return (self.override or self.method).upper()[:20]

    @classmethod
    def of(cls, written: str | None) -> FormFacts | None:
        """From `METHOD action`, as an `Offer` says it."""
        if written is None:
            return None
        method, _, action = written.partition(" ")
        return cls(method.upper() or "GET", action)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`danger` None: it may be tried. Else why not, and the name under which it was allowed all the same."""

    danger: Danger | None = None
    why: str = ""
    allowed_by: str = ""

    @property
    def may(self) -> bool:
        """Whether it may be tried."""
        return self.danger is None or bool(self.allowed_by)


SAFE = Verdict()


@dataclass(frozen=True)
class _Control:
    """An offer as it is judged: what it is called, all its attributes, the form it acts on."""

    offer: Offer
    form: FormFacts | None
    attributes: Mapping[str, str]
    names: tuple[str, ...] = ()
    here: str = ""

    @classmethod
    def of(cls, offer: Offer, form: FormFacts | None, marks: Mapping[str, str], here: str) -> _Control:
        known = offer.fingerprint.attributes if offer.fingerprint else {}
        attributes = {name.casefold(): value for name, value in {**known, **marks}.items()}
        form = form or FormFacts.of(offer.form)
        if "formmethod" in attributes or "formaction" in attributes:
            form = form or FormFacts()
            method = attributes.get("formmethod", form.method).upper()
            form = FormFacts(method, attributes.get("formaction", form.action), form.override)
        said = offer.fingerprint.words if offer.fingerprint else ()
        identifiers = [
            attributes[a] for a in ("id", "name", "data-testid", "data-test", "data-qa") if a in attributes
        ]
        names = [each for each in (offer.name, offer.label, *said, *identifiers) if each.strip()]
        if not any(each.strip() for each in (offer.name, offer.label, *said)):
            names += attributes.get("class", "").split()
        return cls(offer, form, attributes, tuple(dict.fromkeys(names)), here)

    @property
    def kind(self) -> str:
        return (self.offer.kind or self.attributes.get("type", "")).casefold()

    @property
    def is_link(self) -> bool:
        """Whether it opens an address; a fragment of the page is none, unless it is a route of the client's."""
        href = (self.offer.href or "").strip()
        if not href or href.casefold().startswith("javascript:"):
            return False
        document, _, fragment = href.partition("#")
        inside = "#" in href and document in {"", self.here.partition("#")[0]}
        return not inside or fragment.startswith(("/", "!/"))

    @property
    def is_field(self) -> bool:
        if self.offer.tag.casefold() in _FIELD_TAGS:
            return not (self.offer.tag.casefold() == "input" and self.kind in _INPUT_BUTTONS)
        return (
            self.offer.action_type not in {"click", "double_click"} and self.offer.role not in _PRESSED_ROLES
        )

    @property
    def submits(self) -> bool:
        """Whether pressing it sends its form."""
        if self.form is None:
            return False
        tag = self.offer.tag.casefold()
        return self.kind in _SUBMITTING or (tag == "button" and self.kind not in {"button", "reset"})

    @property
    def opens(self) -> bool:
        """Whether it says of itself that it opens something first, rather than act."""
        said = self.attributes
        return (
            said.get("aria-haspopup", "").casefold() in _OPENING_ROLES
            or said.get("data-bs-toggle", said.get("data-toggle", "")).casefold() in _OPENING_TOGGLES
            or "popovertarget" in said
            or said.get("command", "").casefold() in _OPENING_COMMANDS
        )

    @property
    def code(self) -> list[str]:
        """Its handlers, as far as they are written at the element."""
        handlers = [value for name, value in self.attributes.items() if name.startswith(_HANDLERS)]
        href = self.offer.href or ""
        return [*handlers, *([href] if href.casefold().lstrip().startswith("javascript:") else [])]


def danger_of(
    offer: Offer,
    form: FormFacts | None = None,
    allowed: Collection[str] = (),
    *,
    marks: Mapping[str, str] | None = None,
    beside: Sequence[Offer] = (),
    here: str = "",
) -> Verdict:
    """Whether trying an offer might change something, and whether it was allowed by name.

    `form` is the form it belongs to (None: what the offer says of it); `marks` are attributes of the element that
    its fingerprint does not keep (`onclick`, `hx-post`, `formmethod`, `aria-haspopup`, ...); `beside` are the
    offers of the same page, without which no framework's convention is recognised; `here` is the page's own
    address: what leads into the same document opens nothing, whatever that address says.
    """
    control = _Control.of(offer, form, marks or {}, here)
    found = _danger(control, beside)
    if found is None:
        return SAFE
    danger, why = found
    return Verdict(danger, why[:300], _allowed_by(control, danger, allowed))


def danger_of_request(
    method: str, address: str, *, allowed: bool = False, cleared: Collection[str] = ()
) -> Verdict:
    """Whether a request that the browser is about to send might change something.

    `allowed`: a control that was allowed by name is being used, so that what it sends may pass. `cleared` are
    whole addresses that may be opened whatever they say: start pages, and links that `danger_of` found safe.
    """
    if allowed:
        return SAFE
    if method.upper() not in SAFE_METHODS:
        return Verdict("unknown_method", f"{method.upper()[:20]} is not a method of looking")
    if address in cleared or address.partition("#")[0] in cleared:
        return SAFE
    found = danger_in_address(address)
    if found is not None and found[0] in {"deletes", "signs_out"}:
        return Verdict(found[0], f"the address says it: {found[1]}"[:300])
    return SAFE


def _danger(control: _Control, beside: Sequence[Offer]) -> tuple[Danger, str] | None:
    if control.is_field:
        return _of_field(control)
    marked = _by_marks(control)
    if marked is not None:
        return marked
    if control.is_link:
        return _of_link(control, beside)
    return _of_button(control)


def _of_field(control: _Control) -> tuple[Danger, str] | None:
    """Filling a field changes nothing until it is sent, unless the field sends by itself."""
    if control.kind == "file":
        return "uploads", "a field for files"
    handled = _by_code(control)
    if handled is not None:
        return handled
    sends = any("submit" in code for code in control.code)
    if control.form is not None:
        return ("submits", "sends its form when it is changed") if sends and not control.form.looks else None
    if control.offer.role == "switch":
        return "submits", "a switch without a form acts as soon as it is changed"
    if control.offer.in_row and control.offer.tag.casefold() == "select":
        return "submits", "a choice in a row, without a form: it may be kept as soon as it is changed"
    return None


def _by_marks(control: _Control) -> tuple[Danger, str] | None:
    """Attributes that name a method, an address to post to, or a question that is asked first."""
    for name in _METHOD_MARKS:
        method = control.attributes.get(name, "").upper()
        if method and method not in SAFE_METHODS:
            return ("deletes" if method == "DELETE" else "unknown_method"), f'{name}="{method[:20]}"'
    for name in _POSTING_MARKS:
        if any(variant in control.attributes for variant in (name, f"data-{name}")):
            return ("deletes" if "delete" in name else "unknown_method"), f"has {name}"
    for name in _POSTING_ADDRESSES:
        if "/" in control.attributes.get(name, ""):
            return ("deletes" if "delete" in name or "remove" in name else "unknown_method"), f"has {name}"
    for name in _ASKING_MARKS:
        if control.attributes.get(name):
            return _by_words(control, pressed=True) or ("unknown_method", f"asks to be confirmed ({name})")
    return _by_code(control)


def _by_code(control: _Control) -> tuple[Danger, str] | None:
    for code in control.code:
        found = danger_in_code(code)
        if found is not None:
            return found[0], f"its handler calls {found[1]}"
    return None


def _of_link(control: _Control, beside: Sequence[Offer]) -> tuple[Danger, str] | None:
    href = control.offer.href or ""
    scheme = href.split(":", 1)[0].strip().casefold() if ":" in href.split("/", 1)[0] else ""
    if scheme not in {"", "http", "https"}:
        return ("sends" if scheme in {"mailto", "sms"} else "leaves"), f"a {scheme[:20]}: address"
    found = danger_in_address(href)
    if found is not None:
        return None if _convention(control, beside) else (found[0], f"its address says {found[1]}")
    if control.offer.role == "tab":
        return None
    return _by_words(control, pressed=control.offer.role in _PRESSED_ROLES and not control.opens)


def _of_button(control: _Control) -> tuple[Danger, str] | None:
    if control.kind == "reset" or control.offer.role in {"tab", "columnheader"}:
        return None
    if control.submits and control.form is not None and not control.form.looks:
        said = _by_words(control, pressed=True) or _by_address(control.form.action)
        if said is None and control.form.verb == "DELETE":
            said = "deletes", "sends a form by DELETE"
        return said or ("submits", f"sends a form by {control.form.verb}")
    if control.opens:
        return None
    said = _by_words(control, pressed=True)
    if said is not None and not _only_looks_up(control, said[0]):
        return said
    return _by_address(control.form.action) if control.submits and control.form is not None else None


def _only_looks_up(control: _Control, danger: Danger) -> bool:
    """A form sent by GET may call its button `Submit` or `Apply`: that is a search."""
    return danger == "submits" and control.submits and control.form is not None and control.form.looks


def _by_address(address: str) -> tuple[Danger, str] | None:
    found = danger_in_address(address)
    return None if found is None else (found[0], f"its form's address says {found[1]}")


def _by_words(control: _Control, *, pressed: bool) -> tuple[Danger, str] | None:
    for name in control.names:
        found = danger_in_words(name, pressed=pressed)
        if found is not None:
            return found[0], f'is called "{found[1]}"'
    return None


def _convention(control: _Control, beside: Sequence[Offer]) -> Convention | None:
    """The documented convention by which a link with a deed in its address asks first; None: there is none."""
    href, classes = control.offer.href or "", control.attributes.get("class", "").split()
    for convention in danger_book().conventions:
        if convention.link.css_class not in classes:
            continue
        thing = urls.compile_pattern(convention.link.path).search(path_of(href))
        if thing is None:
            continue
        wanted = convention.beside.path.replace("{thing}", thing.group("thing"))
        if any(_is_beside(each, convention.beside.css_class, wanted) for each in beside):
            return convention
    return None


def _is_beside(offer: Offer, css_class: str, path: str) -> bool:
    classes = offer.fingerprint.attributes.get("class", "").split() if offer.fingerprint else []
    return css_class in classes and path_of(offer.href or "") == path


def _allowed_by(control: _Control, danger: Danger, allowed: Collection[str]) -> str:
    """The entry that names the control: `NAME`, `ROLE:NAME` (`link:Delete`) or `/path/*`, `*` for anything.

    Signing out ends the look: an entry must name it in full.
    """
    names = {_folded(name) for name in (control.offer.name, control.offer.label) if name}
    roles = {control.offer.role.casefold(), "link" if control.is_link else "button"}
    for entry in allowed:
        if danger == "signs_out" and "*" in entry:
            continue
        if entry.startswith("/"):
            path = path_of(
                (control.offer.href if control.is_link else control.form and control.form.action) or ""
            )
            if path and fnmatchcase(path, entry):
                return entry
            continue
        wanted = _folded(entry)
        role, colon, bare = wanted.partition(":")
        if any(fnmatchcase(name, wanted) for name in names):
            return entry
        if colon and role in roles and any(fnmatchcase(name, bare.strip()) for name in names):
            return entry
    return ""


def _folded(text: str) -> str:
    return " ".join(plain(text).casefold().split())
