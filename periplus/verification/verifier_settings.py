"""Settings of a verifier, and what requirements need from outside: the address of the site and secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from agent.browser.browser_profile import BrowserProfile
from agent.inferencer import Inferencer
from kb_schema.placeholders import secret_names
from kb_schema.verification import Requirement
from periplus.errors import UserError
from periplus.session_setup import BrowserOptions
from periplus.verification.generated_test_proof import ProofChoice


@dataclass(frozen=True, slots=True)
class VerifierSettings:
    """What a verifier works with; everything has a default."""

    out: Path = Path("out/verify")
    """The folder of reports, tests and screenshots."""
    base_url: str | None = None
    """The address of the site; None: each requirement gives its own."""
    origins: tuple[str, ...] = ()
    """Origins besides the site's own in which secrets may be typed."""
    website_id: str | None = None
    """The name under which plans and runs are stored; None: the host."""
    login: str | None = None
    """Signs in for every requirement that names no login itself: a task of the knowledge base, or the
    `req_id` of a requirement."""
    requirements: tuple[Requirement, ...] = ()
    """All requirements of the suite, in their order, if known beforehand."""
    values: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Inputs of a login task."""
    secrets: Mapping[str, str] | None = field(default=None, repr=False)
    """Secrets by name; None: read from the environment."""
    browser: BrowserOptions = field(default_factory=lambda: BrowserOptions(headed=False))
    """The browser to start, or the given one."""
    profile: BrowserProfile = field(default_factory=BrowserProfile)
    """Engine, viewport and device of the browser, and of the generated tests."""
    max_heal_rounds: int | None = None
    """None: `PERIPLUS_MAX_HEAL_ROUNDS`."""
    timeout_s: float | None = None
    """How long an element and an outcome may take, in seconds; None: `PERIPLUS_PLAYWRIGHT_TIMEOUT`, or 5."""
    requirement_s: float | None = None
    """After so many seconds a requirement is ended; None: the caller ends it."""
    tests: bool = True
    """Whether tests are written."""
    prove: ProofChoice = "never"
    """Which generated tests are run once before the verdict."""
    reset: str | None = None
    """A command that puts the site back before each of them."""
    rediscover: bool = False
    """Find every element again, even if the plan of an earlier pass is known."""
    pictures: bool = True
    inferencer: Inferencer | None = field(default=None, repr=False)
    """The language model that comments on root causes, and decides none; None: no comments."""
    title: str = ""
    data_dir: Path | None = None
    """None: `PERIPLUS_DATA_DIR`."""
    mongodb_url: str | None = field(default=None, repr=False)
    """None: `PERIPLUS_MONGODB_URL`; without either, the data directory."""


def resolve_requirement_url(requirement: Requirement, base_url: str | None) -> tuple[Requirement, str]:
    """Return the requirement with its URL relative to the base URL, and the base URL.

    Raises `UserError` if neither the requirement nor the caller names a site.
    """
    parts = urlsplit(requirement.url)
    own = f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else None
    if base_url is None and own is None:
        raise UserError(
            f"{requirement.req_id} begins at {requirement.url!r}, but no site is given",
            fix="give --base-url URL (or --seed NAME for a site that comes with Periplus)",
        )
    if own is None:
        return requirement, (base_url or "").rstrip("/")
    path = requirement.url[len(own) :] or "/"
    return requirement.model_copy(update={"url": path}), (base_url or own).rstrip("/")


def find_secrets(
    requirements: tuple[Requirement, ...], known: Mapping[str, str] | None = None, *, strict: bool = True
) -> dict[str, str]:
    """Return the secrets these requirements use, by name.

    `known` is where to look; None: the environment. Raises `UserError` that lists all secrets without a value;
    with `strict=False` they are left out instead.
    """
    source: Mapping[str, str] = os.environ if known is None else known
    wanted: dict[str, str] = {}
    for requirement in requirements:
        texts = [requirement.url]
        for step in requirement.steps:
            texts += [step.value or "", *(each.value or "" for each in step.expected)]
        for name in secret_names(*texts):
            wanted.setdefault(name, requirement.req_id)
    if not strict:
        return {name: source[name] for name in wanted if source.get(name)}
    missing = {name: req_id for name, req_id in wanted.items() if not source.get(name)}
    if missing:
        listed = ", ".join(f"{name} ({req_id})" for name, req_id in missing.items())
        names = " ".join(f"{name}=..." for name in missing)
        raise UserError(
            f"{len(missing)} secret{'s have' if len(missing) > 1 else ' has'} no value: {listed}",
            fix=f"set in the environment: {names}",
        )
    return {name: source[name] for name in wanted}
