"""Side effects of actions: dialogs, downloads, tabs, file choosers (`agent.page.page_side_effects`) and
leaving the website.

Each is handled as the step's author says, else refused with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent.errors import StepFailed, UnauthoredSideEffect
from agent.events import DialogAnswered
from agent.execution.effects.pressed_questions import PressedQuestion
from agent.page.download_saving import DownloadGuard, DownloadTooLarge
from agent.page.page_side_effects import ExpectedSideEffects, PageSideEffects, SideEffectKind, watch_page
from kb_schema import action_types
from kb_schema.action_calls import ActionCall, DialogAnswer
from kb_schema.url_patterns import origin_of

if TYPE_CHECKING:
    from playwright.async_api import Page

    from agent.session import Session

TAB_S = 5.0
"""Seconds a tab that is to be followed may take to open, and to have a document."""
DOWNLOAD_S = 30.0
"""Seconds until a download must begin; it may take any time to finish."""
GRACE_S = 0.25
"""Seconds to wait for a tab or download if nothing else is waited for."""
PROMISES = "a[target]:not([target^=_self]):focus, a[download]:focus"
"""A pressed link has the focus."""
_HINTS: dict[SideEffectKind, str] = {
    "dialog": "set `on_dialog: accept` or `on_dialog: dismiss` in the step's action",
    "download": "set `download: NAME` in the step's action",
    "tab": "set `new_tab: follow` or `new_tab: close` in the step's action",
    "file": "use the action `upload_file` on that element",
}


class SideEffects:
    """Side effects of one task runner's actions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._openers: list[Page] = []
        """Pages from which tabs were followed, the latest last."""
        self._may_lead = False
        """Whether the last action may open something."""
        self._question: PressedQuestion | None = None
        self.agreed: list[str] = []
        """The questions of the page that were agreed to as the person allowed, since the list was last emptied."""
        self._guard: DownloadGuard | None = None
        """Of the download that the present action begins."""
        watch_page(session.page)

    @property
    def question(self) -> PressedQuestion | None:
        """What the page may ask of the present action."""
        return self._question

    def expect(self, call: ActionCall, question: PressedQuestion | None = None) -> None:
        """Prepare for an action; return to the opener if a followed tab was closed.

        `question`: what the page may ask, if the call does not say how it is answered.

        Raises `UnauthoredSideEffect` for a late side effect of the action before.
        """
        session = self._session
        self._raise_refused()
        while session.page.is_closed() and self._openers:
            session.page = self._openers.pop()
            session.touched()
        kind = action_types.action_type(call.action_type)
        self._may_lead = kind is None or not kind.idempotent
        self._guard = None
        if call.download is not None:
            self._guard = DownloadGuard(session.page, session.most_download_mb)
            self._guard.start()
        own, here = call.on_dialog, self._here()
        if self._question is not None or question is not None:
            here.object_to = (lambda _text: None) if question is None else question.object_to
        self._question = question
        here.expect(
            ExpectedSideEffects(
                dialog=own if question is None else DialogAnswer(accept=True),
                new_tab=call.new_tab,
                download=call.download is not None,
                file=call.canonical_type == "upload_file",
            )
        )

    async def follow(self, call: ActionCall, values: dict[str, Any]) -> None:
        """Follow the tab, or store the download, that the author names. Raises `StepFailed` if there is
        none.
        """
        if call.new_tab == "follow":
            await self._follow_tab()
        if call.download is not None:
            values[call.download] = await self._keep_download()

    async def close_tab(self) -> None:
        """Close the tab that was followed last, and return to its opener. Raises `StepFailed` if there is
        none.
        """
        session = self._session
        if not self._openers:
            raise StepFailed("close_tab: no tab was followed", error="no_tab")
        tab = session.page
        session.page = self._openers.pop()
        session.touched()
        await tab.close()

    async def settle(self, *, unseen: bool | None = None) -> None:
        """Publish answered dialogs and raise for refused side effects.

        `unseen`: the step is over and the page was not looked at since, so a side effect may only be
        beginning; None: the step is not over. Raises `UnauthoredSideEffect`, `LeftWebsite`.
        """
        came = self._here()
        await came.settled(await self._grace_s() if unseen and self._may_lead else 0.0)
        if unseen is not None:
            self._may_lead = False  # the inner steps have waited already
        for dialog in came.answered_dialogs:
            self._session.bus.tell(DialogAnswered(dialog.kind, dialog.message, dialog.accepted))
            if self._question is not None and dialog.accepted and dialog.kind == "confirm":
                self.agreed.append(dialog.message)
        came.answered_dialogs.clear()
        self._raise_refused()
        self._session.check_origin()

    def files(self, names: list[str]) -> list[str]:
        """Return the paths of files to upload. Raises `UnauthoredSideEffect` for one outside the upload
        folder.
        """
        folder = self._session.upload_folder
        if folder is None:
            return names
        home = folder.resolve()
        paths = [(home / name).resolve() for name in names]
        for name, path in zip(names, paths, strict=True):
            if not path.is_relative_to(home):
                raise UnauthoredSideEffect(
                    f"the file {name!r} is not in the upload folder",
                    kind="file",
                    hint=f"put it into {folder} and give its name without a folder",
                )
        return [str(path) for path in paths]

    def _raise_refused(self) -> None:
        refused = self._here().refused
        if not refused:
            return
        first = refused[0]
        refused.clear()
        foreign = self._foreign(first.url)
        reason = f"; {foreign} is not an origin of the website" if foreign else ""
        what = self._session.context.redact(first.what)
        hint = _HINTS[first.kind]
        if first.kind == "dialog" and self._question is not None:
            hint = f"if that is meant, allow what it does with --allow; or {hint}"
        raise UnauthoredSideEffect(f"the page {what}{reason}", kind=first.kind, hint=hint)

    async def _grace_s(self) -> float:
        """Longer if the pressed link promises a tab or download: a tab is only reported after its first
        response.
        """
        try:
            promised = await self._session.page.locator(PROMISES).count()
        except PlaywrightError:
            return GRACE_S
        return TAB_S if promised else GRACE_S

    def _here(self) -> PageSideEffects:
        return watch_page(self._session.page)

    def _foreign(self, url: str | None) -> str | None:
        origin = origin_of(url or "")
        web = origin.startswith(("http://", "https://"))
        return origin if web and origin not in self._session.allowed_origins else None

    async def _follow_tab(self) -> None:
        session = self._session
        tab = await self._here().tab(TAB_S)
        if tab is None:
            raise StepFailed("expected a new tab, but none opened", error="timeout", acted=True)
        try:
            await tab.wait_for_load_state("domcontentloaded", timeout=TAB_S * 1000)
        except PlaywrightError as exc:
            raise StepFailed(f"the new tab did not load: {exc.message}", error="timeout", acted=True) from exc
        self._openers.append(session.page)
        session.page = tab
        watch_page(tab)
        session.touched()

    async def _keep_download(self) -> str:
        folder = self._session.download_folder
        if folder is None:
            raise StepFailed("no download folder is configured", error="download_failed", acted=True)
        guard = self._guard
        if guard is None:
            raise StepFailed("expected a download, but none was prepared for", error="timeout", acted=True)
        try:
            download = await self._here().download(DOWNLOAD_S)
            if download is None:
                raise StepFailed("expected a download, but none began", error="timeout", acted=True)
            return str(await guard.save(download, folder))
        except DownloadTooLarge as exc:
            raise StepFailed(f"the download failed: {exc}", error="download_failed", acted=True) from exc
        except PlaywrightError as exc:
            reason = exc.message.splitlines()[0]
            raise StepFailed(f"the download failed: {reason}", error="download_failed", acted=True) from exc
        finally:
            await guard.close()
