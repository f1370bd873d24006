"""Every limit of retrying, with its default, from the outermost to the innermost.

One requested task passes through these limits in this order. An inner limit is used up before the next
outer one is tried; a step that must not be repeated is only retried if the site shows that it did not
happen, whatever the limits say.

====  ======================================  ==============================  ==================
No.   What is limited                         Limit and default               Applied by
====  ======================================  ==============================  ==================
1     time of the whole run                   `timeout_s`: none [policy]      resilient_step_runner
2     replans of the run, sub-tasks included  `max_total_replans`: 10, at     resilient_step_runner
                                              most 15 [policy]
3     replans of one step                     `max_replans_per_step`: 3       resilient_step_runner
                                              [policy]
4     failed items of a loop in a row         `max_consecutive_errors`: 3     loop_items
                                              [authored]
5     attempts at one action of a loop item   `LOOP_ITEM_ATTEMPTS`: 3         loop_items
6     retries of one step by one approach     `max_retries`: 3 [policy]       recovery_runner
7     attempts at a step without a rule       `STEP_ATTEMPTS`: 2              step_runner
8     uses of one remedy for one step         `max_retries`: 1 [authored]     recovery_runner
9     remedies that name remedies             `NESTED_RECOVERIES`: 3          recovery_runner
10    uses of one precondition's remedy       `PRECONDITION_REMEDIES`: 10     precondition_remedies
11    paths tried to one screen               `NAVIGATION_PATHS`: 3           guide
12    recovery edges tried on an unknown page `RECOVERY_EDGES`: 3             guide
13    alternatives of one action              `fallback_actions` [authored]   action_runner
14    attempts at an action under an overlay  `OVERLAY_ATTEMPTS`: 2           action_runner
15    healing rounds of one element           `HEALING_ROUNDS`: 3 [setting]   healing.healer
16    gate passes of one action               `GATE_ATTEMPTS`: 3              page.page_actions
17    waiting for one step's element          `step_timeout_s`: 10 [policy]   healing.element_wait
18    time of one gate pass                   `GATE_TIMEOUT_S`: 5, half of    page.actionability_gate
                                              17 in runs
19    time of Playwright's part of an action  `ACTION_TIMEOUT_MS`: 10 000     page.page_actions
====  ======================================  ==============================  ==================

[policy]: a default of `kb_schema.resilience_policy.ResiliencePolicy`, which settings, the website and the
task may change. [authored]: stated in the knowledge base, with a default in `kb_schema`. [setting]: the
setting `max_heal_rounds`. The rest are the constants below.

Beside this order: `REPORT_ATTEMPTS` limits how often an outcome is reported to the knowledge server, in a
task of its own that no run waits for.
"""

from __future__ import annotations

LOOP_ITEM_ATTEMPTS = 3
"""Attempts at a loop item's action that must not be repeated. Each further one needs proof that the one
before did not happen. Applied by `agent.execution.loops.loop_items`."""

STEP_ATTEMPTS = 2
"""Attempts at a step for whose error the knowledge has no rule, if its failure left the page untouched or
the step may be repeated. Applied by `agent.execution.step_runner`."""

NESTED_RECOVERIES = 3
"""Depth of `error_recovery` documents that name other ones. Applied by
`agent.execution.recovery.recovery_runner`."""

PRECONDITION_REMEDIES = 10
"""Uses of one precondition's remedy in the life of one task runner: a session that expires more often is
broken. Applied by `agent.execution.recovery.precondition_remedies`."""

NAVIGATION_PATHS = 3
"""Paths tried to one screen before navigation gives up (WR: replans per step). Applied by `agent.guide`."""

RECOVERY_EDGES = 3
"""Recovery edges tried on an unknown page before `NoKnownScreen` is raised (KS 9.8). Applied by
`agent.guide`."""

OVERLAY_ATTEMPTS = 2
"""Attempts at an action that an overlay blocks: once, and once more after the website's overlays were
closed. Applied by `agent.execution.action_runner`."""

HEALING_ROUNDS = 3
"""Rounds of finding an element again (PACTS 4.5). Default of the setting `max_heal_rounds`. Applied by
`agent.healing.healer` and `agent.verification.graph`."""

GATE_ATTEMPTS = 3
"""Gate passes of one action if the element leaves the page between the gate and the action: nothing was
done yet. Applied by `agent.page.page_actions`."""

STEP_TIMEOUT_S = 10.0
"""Seconds that all attempts at one step may wait for its element. Default of `step_timeout_s`. Applied by
`agent.healing.element_wait`."""

GATE_TIMEOUT_S = 5.0
"""Seconds an element may take to pass the gate. Applied by `agent.page.actionability_gate`
and `agent.verification.page_checks`."""

ACTION_TIMEOUT_MS = 10_000.0
"""Milliseconds of Playwright's own part of an action, after the gate. Applied by
`agent.page.page_actions`."""

REPORT_ATTEMPTS = 2
"""Attempts at one report to a knowledge server that does not answer; the server counts it once. Applied by
`agent.run_records.outcome_reports`."""

PAGE_ANSWER_S = 30.0
"""Seconds without a sign of life after which a page is ended. Applied by `agent.page.page_watchdog`."""

BROWSER_ANSWER_S = 120.0
"""Seconds without an answer of the browser itself after which it is ended with its driver, and a new one is started. Much longer than
`PAGE_ANSWER_S`, so that a page that is the cause is ended first. Applied by `agent.browser.browser_life`."""

PAGE_CALL_S = 60.0
"""Seconds that the answer to one call of a script in a page may take; then the page is ended. A page can answer the
watchdog and yet never answer a call. Applied by `agent.page.in_page_library`."""

PAGE_PINGS = 6
"""Signs of life that a page is asked for within `PAGE_ANSWER_S`, and a browser within `BROWSER_ANSWER_S`."""

STEP_DIALOGS = 50
"""Dialogs of one step after which its page is ended. Applied by `agent.page.page_side_effects`."""

PAGE_EVENTS = 10_000
"""Errors, requests, frames, web sockets and their messages, workers and downloads of a page within `PAGE_EVENTS_S`; with more it is ended, since they fill the browser driver's memory and delay every other page. Applied by `agent.page.page_watchdog`."""

PAGE_EVENTS_S = 10.0
"""Seconds in which `PAGE_EVENTS`, `PAGE_LINES` and `PAGE_LINE_CHARACTERS` are counted."""

PAGE_REQUESTS = 4_000
"""Requests of a page, its frames and workers within `PAGE_REQUESTS_S` but those for documents, styles, scripts and fonts; with more it is ended.
A page that sends as fast as it can sends 100 to 500 a second and leaves no time for a look at it; one that is used sends at most a few
hundred in that time (a map that is moved all the time: some 2,000). Applied by `agent.page.page_watchdog`."""

PAGE_REQUESTS_S = 60.0
"""Seconds in which `PAGE_REQUESTS` are counted."""

SERVICE_WORKERS = 100
"""Service workers of a context that may start within `PAGE_EVENTS_S`; with more its pages are ended. A document may register 20
(`agent/page/js/6_service_workers.js`). Applied by `agent.page.page_watchdog`."""

PAGE_LINES = 3_000
PAGE_LINE_CHARACTERS = 4_000_000
"""Lines on the console, and their characters, of a page with its frames and workers; with more the page is ended. Nothing hears those of
service workers. Lines of documents are limited where they are written (`agent/page/js/6_console.js`); those of workers cannot be."""

PAGE_MEMORY_MB = 2_000
"""Resident memory of one process of the browser, in MB; pages of a process beyond it are ended. Default of PERIPLUS_PAGE_MEMORY.
Applied by `agent.browser.memory_watch`."""

DOWNLOAD_MB = 1_000
"""Size in MB of a download that a step keeps; a larger one is stopped. Default of PERIPLUS_MAX_DOWNLOAD. Applied by
`agent.page.download_saving`."""

OPEN_WINDOWS = 30
"""Windows that a page, and those that it opened, may have open at a time; with more it is ended. Applied by
`agent.page.page_watchdog`."""
