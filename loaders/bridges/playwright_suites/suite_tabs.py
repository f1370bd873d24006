"""Puts the steps of a test into one sequence: tabs that steps open, downloads, and checks at the end.

A run has one tab at a time: it follows a new one, and comes back by closing it. What goes back and forth between tabs is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loaders.bridges.playwright_suites.suite_source import SuiteStep

OPENS, OPENED = "opens", "opened"
"""The next, or the last, action opens the tab `name`."""
DOWNLOADS, DOWNLOADED = "downloads", "downloaded"
"""The next, or the last, action downloads the file `name`."""
CLOSE_TAB = "close_tab"
_MARKS = frozenset({OPENS, OPENED, DOWNLOADS, DOWNLOADED})


def follow_tabs(
    steps: list[SuiteStep], note: Callable[[SuiteStep, str], None]
) -> tuple[tuple[SuiteStep, ...], tuple[SuiteStep, ...]]:
    """Return the actions, and the checks after the last one. `note`: reports a step and what is left out of it."""
    checks, passed = _checks_at_end(steps)
    if passed:
        lines = ", ".join(map(str, dict.fromkeys(each.line for each in passed)))
        note(passed[0], f"checks before the last action are not imported (lines {lines})")
    for each in [each for each in checks if not each.name or each.name == "assert"]:
        note(each, "this check is not imported: no condition of ours says it")
        checks.remove(each)
    acts = _with_openings([each for each in steps if each.action != "check"])
    found = tuple(_in_one_tab(acts, note))
    last = next((each.tab for each in reversed(found)), "")
    return found, tuple(each for each in checks if each.tab == last)


def _checks_at_end(steps: list[SuiteStep]) -> tuple[list[SuiteStep], list[SuiteStep]]:
    acts = [at for at, each in enumerate(steps) if each.action != "check" and each.action not in _MARKS]
    end = acts[-1] if acts else -1
    checks = [(at, each) for at, each in enumerate(steps) if each.action == "check"]
    return [each for at, each in checks if at > end], [each for at, each in checks if at < end]


def _with_openings(steps: list[SuiteStep]) -> list[tuple[SuiteStep, str | None]]:
    """Return the actions, each with the tab that it opens."""
    found: list[tuple[SuiteStep, str | None]] = []
    tab: str | None = None
    file: str | None = None
    for step in steps:
        if step.action == OPENS:
            tab = step.name
        elif step.action == DOWNLOADS:
            file = step.name
        elif step.action == OPENED:
            if found:
                found[-1] = (found[-1][0], step.name)
        elif step.action == DOWNLOADED:
            if found:
                found[-1] = (replace(found[-1][0], download=step.name), found[-1][1])
        else:
            found.append((replace(step, download=file) if file else step, tab))
            tab = file = None
    return found


def _in_one_tab(
    acts: list[tuple[SuiteStep, str | None]], note: Callable[[SuiteStep, str], None]
) -> list[SuiteStep]:
    found: list[SuiteStep] = []
    open_tabs = [acts[0][0].tab] if acts else []
    """The tab of the run, last, and those from which it was opened."""
    for at, (step, opens) in enumerate(acts):
        later = {each.tab for each, _ in acts[at:]}
        here = open_tabs[-1]
        if step.tab in open_tabs[:-1] and not later & {*open_tabs[open_tabs.index(step.tab) + 1 :]}:
            while open_tabs[-1] != step.tab:
                found.append(SuiteStep(CLOSE_TAB, line=step.line, tab=step.tab))
                open_tabs.pop()
        elif step.tab != here and step.action == "goto" and here not in later:
            open_tabs = [step.tab]
        elif step.tab != here:
            note(step, "a step in another tab, to and from which the recording changes, is left out")
            continue
        if opens is not None:
            follows = next((each.tab for each, _ in acts[at + 1 :]), None) == opens
            open_tabs += [opens] if follows else []
            found.append(replace(step, new_tab="follow" if follows else "close"))
        else:
            found.append(step)
    return found
