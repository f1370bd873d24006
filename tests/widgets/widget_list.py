"""The list of widgets (`widgets.yaml`) as values."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

LIST = Path(__file__).with_name("widgets.yaml")


class Widget(BaseModel):
    """A widget: what a person does with it, and what its page keeps of that."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    library: str
    name: str
    does: str
    acts: tuple[dict[str, Any], ...]
    values: tuple[str | dict[str, str], ...] = ()
    """What `{value}` stands for; where the page writes it otherwise, by name: `{typed}`, `{value}`."""
    leaves: dict[str, Any] = {}
    """The state of the page afterwards, by key."""
    leaves_about: dict[str, tuple[float, float]] = {}
    """The least and the most of a number."""
    leaves_has: dict[str, str] = {}
    """A text that the state has among others."""
    leaves_set: str = ""
    """A key that the state has, whatever its value."""

    @property
    def key(self) -> str:
        """Name it in files."""
        return f"{self.library}.{self.name}"

    def fill(self, value: str | dict[str, str]) -> Widget:
        """Return it with this value in its acts and its state."""
        text = self.model_dump_json(exclude={"values"})
        for name, said in ({"value": value} if isinstance(value, str) else value).items():
            text = text.replace(f"{{{name}}}", said)
        return Widget.model_validate_json(text)

    def first(self) -> Widget:
        """Return it with its first value, if it has any."""
        return self.fill(self.values[0]) if self.values else self

    def find_fault(self, state: dict[str, Any]) -> str:
        """Return in what a state is not the one that the person leaves; empty if it is."""
        wrong = [
            f"{key} is {state.get(key)!r}" for key, value in self.leaves.items() if state.get(key) != value
        ]
        wrong += [
            f"{key} is {state.get(key)!r}"
            for key, (least, most) in self.leaves_about.items()
            if not least <= float(state.get(key) or -1) <= most
        ]
        wrong += [
            f"{key} is {state.get(key)!r}"
            for key, part in self.leaves_has.items()
            if part not in str(state.get(key))
        ]
        if self.leaves_set and not state.get(self.leaves_set):
            wrong.append(f"{self.leaves_set} is not set")
        return "; ".join(wrong)


def given_of(value: str | dict[str, str]) -> str:
    """Return a value as a person gives it to a run: as the page says it to people."""
    return value if isinstance(value, str) else value.get("given", value["value"])


@cache
def list_widgets() -> dict[str, Widget]:
    """Return the widgets by their keys."""
    listed = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    widgets = (
        Widget(library=library, name=name, **what)
        for library, named in listed.items()
        for name, what in named.items()
    )
    return {each.key: each for each in widgets}
