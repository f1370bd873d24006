"""The sign-in options of `periplus map`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser

from kb_schema.url_patterns import is_web_address, origin_of
from kb_store import Stores
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError
from periplus.exploration.map_run import MapRunPlan, SignInFunction
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import (
    ExplorationSignIn,
    TaskSignIn,
    sign_in_by_storage_state,
    sign_in_by_task,
    sign_in_with_form,
    take_given_session,
)
from periplus.terminal.live_view import find_terminal_prompts


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """The sign-in options of the command line."""

    storage_state: Path | None
    task: str | None
    form: bool
    at: str | None
    """The address of the form; None: the start page."""
    inputs: dict[str, str]

    def check(self) -> None:
        """Raise `UserError` for contradicting or unused options."""
        ways = [self.storage_state is not None, self.task is not None, self.form]
        if sum(ways) > 1:
            raise UserError(
                "--storage-state, --sign-in and --sign-in-form cannot be combined", fix="give one of them"
            )
        if self.inputs and not (self.task or self.form):
            raise UserError(
                "--input is only used for signing in", fix="also give --sign-in TASK or --sign-in-form"
            )
        if self.at is not None and not self.form:
            raise UserError("--sign-in-url needs --sign-in-form", fix="also give --sign-in-form")
        if self.at is not None and not is_web_address(self.at):
            raise UserError(
                f"--sign-in-url {self.at} is not a web address",
                fix="write it like https://app.example.com/login",
            )
        if self.form and not self.inputs:
            raise UserError(
                "--sign-in-form needs the values to type", fix="--input email=... --input password=..."
            )

    def choose(
        self, plan: MapRunPlan, stores: Stores | None, runs: RunStore | None, view: MapView
    ) -> SignInFunction | None:
        """Return what signs in; None: nothing was asked for."""
        if self.storage_state is not None:
            session = sign_in_by_storage_state(self.storage_state)

            async def kept(_: Browser) -> ExplorationSignIn:
                return session

            return kept
        if self.form:
            return lambda browser: sign_in_with_form(browser, self.at or plan.url, self.inputs)
        if self.task is not None and stores is not None and runs is not None:
            task = TaskSignIn(self.task, plan.website_id, origin_of(plan.url), self.inputs)
            folder = plan.folder.path / "signing-in"
            folder.mkdir(parents=True, exist_ok=True)
            return lambda browser: sign_in_by_task(
                browser, task, stores, runs, folder, find_terminal_prompts(view)
            )
        return None


def use_given_session(plan: MapRunPlan) -> SignInFunction:
    """Return what takes the session of the given browser; where it has none, the exploration is that of a visitor."""

    async def taken(browser: Browser) -> ExplorationSignIn | None:
        return await take_given_session(browser, (plan.url, *plan.origins))

    return taken
