"""The options of `periplus map` that concern `--update`."""

from __future__ import annotations

from dataclasses import dataclass

from periplus.errors import UserError


@dataclass(frozen=True, slots=True)
class MapUpdateOptions:
    """What `--update` is to do."""

    update: bool
    apply: bool
    propose: bool
    load: bool
    alone: bool
    """Whether no option was given that it cannot be combined with."""

    def check(self) -> None:
        """Raise `UserError` for contradicting or unused options."""
        if not self.update:
            option = "--apply" if self.apply else "--propose"
            raise UserError(f"{option} needs --update", fix="also give --update")
        if self.apply and self.propose:
            raise UserError("--apply and --propose cannot be combined", fix="give one of them")
        if self.load and not self.apply:
            raise UserError(
                "--update --load needs --apply: only changed knowledge can be loaded",
                fix="also give --apply, or --propose instead",
            )
        if not self.alone:
            raise UserError(
                "--update cannot be combined with --resume, --redraw, --workers or --force",
                fix="leave it out",
            )
