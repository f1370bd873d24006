"""Applies the changes and bugs of `operators.yaml` to a copy of a site's model."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.interface_changes.site_models import FIELDS, SITES, Part, SiteModel

LISTED = Path(__file__).with_name("operators.yaml")
CHANGES: dict[str, Callable[[SiteModel], bool]] = {}
"""Each changes the model and returns whether that made a difference; a site without the thing to change has none."""
PRESSED = ("save", "find", "act", "remove", "confirm", "open")


@dataclass(frozen=True)
class Operator:
    """One line of `operators.yaml`."""

    name: str
    requirement: str
    is_bug: bool
    part: str = ""
    classes: tuple[str, ...] = ()


@cache
def list_operators() -> dict[str, Operator]:
    """All operators, changes first."""
    listed: dict[str, Any] = yaml.safe_load(LISTED.read_text(encoding="utf-8"))
    changes = {
        name: Operator(name, each["requirement"], False, each["part"])
        for name, each in listed["changes"].items()
    }
    bugs = {
        name: Operator(name, each["requirement"], True, classes=tuple(each["class"]))
        for name, each in listed["bugs"].items()
    }
    return changes | bugs


@dataclass(frozen=True)
class BrokenOutcome:
    """One expected outcome of a step, and the bug after which the site no longer meets it."""

    requirement: str
    step: int
    kind: str
    by: str
    """A name of `bugs` or of `broken`."""


@cache
def list_broken_outcomes() -> list[BrokenOutcome]:
    """All expected outcomes of the requirements, each with its bug."""
    listed: dict[str, Any] = yaml.safe_load(LISTED.read_text(encoding="utf-8"))
    return [BrokenOutcome(**each) for each in listed["outcomes"]]


def apply_operators(site: str, names: tuple[str, ...]) -> SiteModel | None:
    """Return the site after these changes or bugs; None if one of them changes nothing there."""
    model = deepcopy(SITES[site])
    for name in names:
        if name not in CHANGES:
            _add_bug(model, name)
        elif not CHANGES[name](model):
            return None
    return model


def _change(make: Callable[[SiteModel], bool | None]) -> Callable[[SiteModel], bool | None]:
    CHANGES[make.__name__.removeprefix("_")] = lambda model: make(model) is not False
    return make


def _word_change(name: str, part: str, *, identifiers: bool = False) -> None:
    def change(model: SiteModel) -> bool:
        its = model.parts[part]
        its.words = model.synonyms[part]
        if identifiers:
            new = its.words.lower().replace(" ", "_")
            changed = bool(its.id or its.name or its.test_id)
            its.id, its.name, its.test_id = (
                its.id and new, its.name and f"{new}_field", its.test_id and f"{new}-input"
            )  # fmt: skip
            return changed
        return True

    CHANGES[name] = change


for _name in ("open", "save", "find", "act", "remove", "confirm"):
    _word_change(f"rename_{_name}", _name)
for _name in ("name", "kind", "urgent", "search"):
    _word_change(f"relabel_{_name}", _name)
for _name in ("name", "search"):
    _word_change(f"relabel_and_rename_{_name}", _name, identifiers=True)


@_change
def _more_words_save(model: SiteModel) -> None:
    model.parts["save"].words += f" {model.noun}"


def _relabelled(part: Part, label: Any) -> bool:
    before, part.label = part.label, label
    return before != label


@_change
def _label_to_placeholder(model: SiteModel) -> bool:
    its = model.parts["name"]
    return _relabelled(its, "for" if its.label == "placeholder" else "placeholder")


@_change
def _label_to_aria(model: SiteModel) -> bool:
    return _relabelled(model.parts["name"], "aria")


@_change
def _label_around(model: SiteModel) -> bool:
    return _relabelled(model.parts["name"], "for" if model.parts["name"].label == "around" else "around")


@_change
def _re_id(model: SiteModel) -> bool:
    changed = False
    for key, part in model.parts.items():
        changed = changed or bool(part.id or part.name)
        part.id = part.id and f"ctl00_{key.capitalize()}{model.noun.capitalize()}"
        part.name = part.name and f"{model.noun}[{key}]"
    return changed


CHANGES["re_id_rows"] = CHANGES["re_id"]


@_change
def _re_id_and_rename_save(model: SiteModel) -> bool:
    return CHANGES["rename_save"](model) and CHANGES["re_id"](model)


@_change
def _re_class(model: SiteModel) -> bool:
    model.classes = {
        key: f"ui-{key} x{number}{key[::-1]}" for number, key in enumerate(("box", "field", "list", "tick", "button", "save", "table", "form", "label"))
    }  # fmt: skip
    return True


@_change
def _re_test_id(model: SiteModel) -> bool:
    had = any(part.test_id for part in model.parts.values())
    for number, part in enumerate(model.parts.values()):
        part.test_id = part.test_id and f"e2e-{number}"
    return had


@_change
def _wrap(model: SiteModel) -> None:
    model.boxes = 2


CHANGES["wrap_rows"] = CHANGES["wrap"]


def _retag(name: str, part: str, tag: str) -> None:
    def change(model: SiteModel) -> bool:
        its = model.parts[part]
        its.tag = tag if its.tag != tag else "a"
        return True

    CHANGES[name] = change


_retag("retag_save", "save", "div")
_retag("retag_find", "find", "div")
_retag("retag_open", "open", "button")


def _moved(name: str, part: str, place: str, *, new_id: bool) -> None:
    def change(model: SiteModel) -> bool:
        its = model.parts[part]
        its.place = place
        if new_id:
            its.id = its.id and f"moved-{part}-control"
        return True

    CHANGES[name] = change


_moved("move_save", "save", "first", new_id=True)
_moved("move_open", "open", "last", new_id=True)
_moved("move_search", "search", "last", new_id=False)


@_change
def _reorder_fields(model: SiteModel) -> None:
    model.fields.reverse()


@_change
def _reorder_columns(model: SiteModel) -> None:
    model.columns.reverse()


@_change
def _reorder_row_buttons(model: SiteModel) -> None:
    model.row_buttons.reverse()


@_change
def _new_sibling_save(model: SiteModel) -> None:
    model.beside["save"] = f"{model.parts['save'].words} and add another"


@_change
def _new_sibling_field(model: SiteModel) -> None:
    model.beside["name"] = f"Second {model.parts['name'].words.lower()}"


@_change
def _new_row_button(model: SiteModel) -> None:
    model.row_buttons.insert(0, "more")


@_change
def _new_row(model: SiteModel) -> None:
    model.rows.insert(0, ["Something new", model.options[0][0]])


@_change
def _split_form(model: SiteModel) -> None:
    model.groups = ["The main thing", "More about it"]


@_change
def _option_text(model: SiteModel) -> None:
    model.options[1] = [model.options[1][0], f"{model.options[1][1]} (usual)"]


@_change
def _dialog_text(model: SiteModel) -> None:
    model.dialog = "This cannot be undone. Do you want to go on with {name}?"


@_change
def _dialog_and_confirm(model: SiteModel) -> bool:
    _dialog_text(model)
    return CHANGES["rename_confirm"](model)


@_change
def _headings(model: SiteModel) -> None:
    model.list_heading, model.form_heading = f"Your {model.noun} overview", f"Details of the {model.noun}"


CHANGES["headings_rows"] = CHANGES["headings"]


@_change
def _icon_act(model: SiteModel) -> None:
    model.parts["act"].icon = True


@_change
def _capitals(model: SiteModel) -> None:
    for part in model.parts.values():
        part.words = part.words.upper()


def _add_bug(model: SiteModel, name: str) -> None:
    part, _, what = name.partition("_")
    if what == "removed" and part in (*PRESSED, *FIELDS):
        model.parts[part].removed = True
    elif part == "dead":
        model.parts[what].dead = True
    elif what == "forgotten":
        model.parts[part].forgets = True
    elif name == "option_removed":
        del model.options[1]
    elif name == "save_replaced":
        model.parts["save"].words, model.parts["save"].opposite = "Delete everything", "delete_all"
    elif name == "act_replaced":
        model.parts["act"].words, model.parts["act"].opposite = "Archive for ever", "archive"
    else:
        model.bugs.append(name)


def get_meant_words(model: SiteModel, operator: Operator) -> str:
    """Return the words that the changed control, or option, has now."""
    if operator.name == "option_text":
        return model.chosen[1]
    return re.sub(r"\s+", " ", model.parts[operator.part].words).strip()
