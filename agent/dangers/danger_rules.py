"""Decides which controls and requests may change data on a website that is only explored.

There are two checks. `judge_offer` judges a control before it is used: by its name, its form, its address, and
attributes that name a method. `judge_request` judges every request that the browser is about to send: only GET,
HEAD and OPTIONS pass, and no address that deletes or signs out. A link is opened by GET and passes the second
check, so the first one is strict for links (decision 42). Words and conventions are in `dangers.yaml`.

Origins and robots.txt are checked elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agent.dangers.danger_addresses import (
    find_danger_in_address,
    find_deed_in_bare_query,
    read_url_path,
)
from agent.dangers.danger_words import (
    LinkConvention,
    find_danger_in_code,
    find_danger_in_words,
    load_danger_words,
    undisguise_text,
)
from kb_schema import url_patterns
from kb_schema.explorations import Danger, Offer

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Safe methods (RFC 9110, 9.2.1), without TRACE."""
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
"""Attributes of scripts that count only if their value is an address: `data-post="17"` is an id."""
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
    """The form of a control, with the control's overrides (`formmethod`, `formaction`)."""

    method: str = "GET"
    action: str = ""
    override: str = ""
    """Value of a hidden field `_method`, which some servers use as the method."""

    @property
    def looks(self) -> bool:
        """Whether its method is safe."""
        return self.method.upper() in _SAFE_FORMS and self.override.upper() in _SAFE_FORMS

    @property
    def verb(self) -> str:
        """The effective method."""
        return (self.override or self.method).upper()[:20]

    @classmethod
    def of(cls, written: str | None) -> FormFacts | None:
        """Return the form of a text `METHOD action`, as in an `Offer`."""
        if written is None:
            return None
        method, _, action = written.partition(" ")
        return cls(method.upper() or "GET", action)


@dataclass(frozen=True, slots=True)
class DangerVerdict:
    """The judgement: `danger` is None if it may be tried; otherwise `allowed_by` may permit it by name."""

    danger: Danger | None = None
    why: str = ""
    allowed_by: str = ""

    @property
    def may(self) -> bool:
        """Whether the control or request may be used."""
        return self.danger is None or bool(self.allowed_by)


SAFE = DangerVerdict()


@dataclass(frozen=True)
class _JudgedControl:
    """A control with its name, all attributes and its form."""

    offer: Offer
    form: FormFacts | None
    attributes: Mapping[str, str]
    names: tuple[str, ...] = ()
    here: str = ""

    @classmethod
    def of(cls, offer: Offer, form: FormFacts | None, marks: Mapping[str, str], here: str) -> _JudgedControl:
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
        """Whether it opens an address; a fragment counts only if it is a client-side route."""
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
            self.offer.action_type not in {"click", "double_click", "right_click", "drag"}
            and self.offer.role not in _PRESSED_ROLES
        )

    @property
    def submits(self) -> bool:
        """Whether pressing it submits its form."""
        if self.form is None:
            return False
        tag = self.offer.tag.casefold()
        return self.kind in _SUBMITTING or (tag == "button" and self.kind not in {"button", "reset"})

    @property
    def opens(self) -> bool:
        """Whether its attributes say that it opens a popup instead of acting."""
        said = self.attributes
        return (
            said.get("aria-haspopup", "").casefold() in _OPENING_ROLES
            or said.get("data-bs-toggle", said.get("data-toggle", "")).casefold() in _OPENING_TOGGLES
            or "popovertarget" in said
            or said.get("command", "").casefold() in _OPENING_COMMANDS
        )

    @property
    def code(self) -> list[str]:
        """The inline event handlers of the element."""
        handlers = [value for name, value in self.attributes.items() if name.startswith(_HANDLERS)]
        href = self.offer.href or ""
        return [*handlers, *([href] if href.casefold().lstrip().startswith("javascript:") else [])]


def judge_offer(
    offer: Offer,
    form: FormFacts | None = None,
    allowed: Collection[str] = (),
    *,
    marks: Mapping[str, str] | None = None,
    beside: Sequence[Offer] = (),
    here: str = "",
) -> DangerVerdict:
    """Judge whether using a control may change data, and whether the user allowed it by name.

    `form` is the form of the control (None: as in the offer). `marks` are attributes that its fingerprint does not
    contain (`onclick`, `hx-post`, `formmethod`, `aria-haspopup`, ...). `beside` are the other controls of the
    page, which are needed to recognise framework conventions. `here` is the address of the page: a link into the
    same document is safe.
    """
    control = _JudgedControl.of(offer, form, marks or {}, here)
    found = _find_danger(control, beside)
    if found is None:
        return SAFE
    danger, why = found
    return DangerVerdict(danger, why[:300], _allowed_by(control, danger, allowed))


def judge_request(
    method: str, address: str, *, allowed: bool = False, cleared: Collection[str] = ()
) -> DangerVerdict:
    """Judge whether a request that the browser is about to send may change data.

    `allowed` means that a control which the user allowed is being used, so its requests may pass. `cleared` are
    addresses that may always be opened: start pages, and links that `judge_offer` found safe.
    """
    if allowed:
        return SAFE
    if method.upper() not in SAFE_METHODS:
        return DangerVerdict("unknown_method", f"{method.upper()[:20]} is not a safe method")
    if address in cleared or address.partition("#")[0] in cleared:
        return SAFE
    found = find_danger_in_address(address)
    if found is not None and found[0] in {"deletes", "signs_out"}:
        return DangerVerdict(found[0], f"the address contains {found[1]}"[:300])
    return SAFE


def _find_danger(control: _JudgedControl, beside: Sequence[Offer]) -> tuple[Danger, str] | None:
    if control.is_field:
        return _of_field(control)
    marked = _by_marks(control)
    if marked is not None:
        return marked
    if control.is_link:
        return _of_link(control, beside)
    return _of_button(control)


def _of_field(control: _JudgedControl) -> tuple[Danger, str] | None:
    """Judge a field: filling it changes nothing, unless a change submits it."""
    if control.kind == "file":
        return "uploads", "a file input"
    handled = _by_code(control)
    if handled is not None:
        return handled
    sends = any("submit" in code for code in control.code)
    if control.form is not None:
        return ("submits", "submits its form when it changes") if sends and not control.form.looks else None
    if control.offer.role == "switch":
        return "submits", "a switch without a form takes effect immediately"
    if control.offer.in_row and control.offer.tag.casefold() == "select":
        return "submits", "a select field in a row, without a form, may be saved immediately"
    return None


def _by_marks(control: _JudgedControl) -> tuple[Danger, str] | None:
    """Judge attributes that name a method, an address to post to, or a confirmation."""
    marked = find_danger_in_marks(control.attributes)
    if marked is not None:
        return marked
    for name in _ASKING_MARKS:
        if control.attributes.get(name):
            return _by_words(control, pressed=True) or ("unknown_method", f"requires a confirmation ({name})")
    return _by_code(control)


def find_danger_in_marks(attributes: Mapping[str, str]) -> tuple[Danger, str] | None:
    """Return the danger of attributes that name a method or an address to post to, and what shows it; None if none does."""
    for name in _METHOD_MARKS:
        method = attributes.get(name, "").upper()
        if method and method not in SAFE_METHODS:
            return ("deletes" if method == "DELETE" else "unknown_method"), f'{name}="{method[:20]}"'
    for name in _POSTING_MARKS:
        if any(variant in attributes for variant in (name, f"data-{name}")):
            return ("deletes" if "delete" in name else "unknown_method"), f"has {name}"
    for name in _POSTING_ADDRESSES:
        if "/" in attributes.get(name, ""):
            return ("deletes" if "delete" in name or "remove" in name else "unknown_method"), f"has {name}"
    return None


def _by_code(control: _JudgedControl) -> tuple[Danger, str] | None:
    for code in control.code:
        found = find_danger_in_code(code)
        if found is not None:
            return found[0], f"its handler calls {found[1]}"
    return None


def _of_link(control: _JudgedControl, beside: Sequence[Offer]) -> tuple[Danger, str] | None:
    href = control.offer.href or ""
    scheme = href.split(":", 1)[0].strip().casefold() if ":" in href.split("/", 1)[0] else ""
    if scheme not in {"", "http", "https"}:
        return ("sends" if scheme in {"mailto", "sms"} else "leaves"), f"a {scheme[:20]}: address"
    found = find_danger_in_address(href)
    if found is not None:
        return None if _convention(control, beside) else (found[0], f"its address contains {found[1]}")
    if control.offer.role == "tab":
        return None
    bare = find_deed_in_bare_query(href)
    if bare is not None:
        return "unknown_method", f"its address ends with {bare}"
    return _by_words(control, pressed=control.offer.role in _PRESSED_ROLES and not control.opens)


def _of_button(control: _JudgedControl) -> tuple[Danger, str] | None:
    if control.kind == "reset" or control.offer.role in {"tab", "columnheader"}:
        return None
    if control.submits and control.form is not None and not control.form.looks:
        said = _by_words(control, pressed=True) or _by_address(control.form.action)
        if said is None and control.form.verb == "DELETE":
            said = "deletes", "submits a form with DELETE"
        return said or ("submits", f"submits a form with {control.form.verb}")
    if control.opens:
        return None
    said = _by_words(control, pressed=True)
    if said is not None and not _only_looks_up(control, said[0]):
        return said
    return _by_address(control.form.action) if control.submits and control.form is not None else None


def _only_looks_up(control: _JudgedControl, danger: Danger) -> bool:
    """Whether it is a search: a form with method GET whose button is named `Submit` or `Apply`."""
    return danger == "submits" and control.submits and control.form is not None and control.form.looks


def _by_address(address: str) -> tuple[Danger, str] | None:
    found = find_danger_in_address(address)
    return None if found is None else (found[0], f"its form's address contains {found[1]}")


def _by_words(control: _JudgedControl, *, pressed: bool) -> tuple[Danger, str] | None:
    for name in control.names:
        found = find_danger_in_words(name, pressed=pressed)
        if found is not None:
            return found[0], f'its name contains "{found[1]}"'
    return None


def _convention(control: _JudgedControl, beside: Sequence[Offer]) -> LinkConvention | None:
    """Return the framework convention by which a dangerous link asks for confirmation first, or None."""
    href, classes = control.offer.href or "", control.attributes.get("class", "").split()
    for convention in load_danger_words().conventions:
        if convention.link.css_class not in classes:
            continue
        thing = url_patterns.compile_pattern(convention.link.path).search(read_url_path(href))
        if thing is None:
            continue
        wanted = convention.beside.path.replace("{thing}", thing.group("thing"))
        if any(_is_convention_link(each, convention.beside.css_class, wanted) for each in beside):
            return convention
    return None


def _is_convention_link(offer: Offer, css_class: str, path: str) -> bool:
    classes = offer.fingerprint.attributes.get("class", "").split() if offer.fingerprint else []
    return css_class in classes and read_url_path(offer.href or "") == path


def _allowed_by(control: _JudgedControl, danger: Danger, allowed: Collection[str]) -> str:
    """Return the entry that allows the control: `NAME`, `ROLE:NAME` (`link:Delete`) or `/path/*`; `*` matches all.

    A control that signs out must be named in full, since it ends the exploration.
    """
    names = {_folded(name) for name in (control.offer.name, control.offer.label) if name}
    roles = {control.offer.role.casefold(), "link" if control.is_link else "button"}
    for entry in allowed:
        if danger == "signs_out" and "*" in entry:
            continue
        if entry.startswith("/"):
            path = read_url_path(
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
    return " ".join(undisguise_text(text).casefold().split())
