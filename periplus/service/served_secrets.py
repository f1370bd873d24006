"""The secrets that clients of the service may use: each is named for one website, and typed there only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from kb_schema.placeholders import find_secret_names
from kb_schema.url_patterns import origin_of
from kb_schema.verification import Requirement
from kb_schema.websites import Website
from periplus.errors import UserError
from periplus.named_secrets import ServedSecret
from periplus.vault_setup import open_vault
from periplus.verifier_ports import NO_SITE, SiteGrant

WebsiteReader = Callable[[], Awaitable[Sequence[Website]]]
"""Reads the websites of the knowledge base."""


class SecretRefused(Exception):
    """A requirement names a secret that clients may not use at its address. `name`; `fix`."""

    def __init__(self, name: str, message: str, fix: str) -> None:
        self.name, self.message, self.fix = name, message, fix
        super().__init__(f"{message} -> {fix}")


class ServedSecrets:
    """Grants requirements what they may use of their website: secrets, origins and login tasks."""

    def __init__(self, named: frozenset[ServedSecret], websites: WebsiteReader) -> None:
        self._named, self._websites = named, websites

    async def grant(self, requirement: Requirement) -> SiteGrant:
        """Return what a requirement may use. Raises `SecretRefused` for the first secret or login it may not."""
        wanted = _secrets_of(requirement)
        if not wanted and requirement.login is None:
            return NO_SITE
        sites = await self._find_sites(origin_of(requirement.url))
        if requirement.login is not None and not any(own for own in sites.values()):
            raise SecretRefused(
                "login",
                f"the login {requirement.login!r} is not used at an address of another website",
                "use an address of a website in the knowledge base (`periplus kb load`)",
            )
        secrets: dict[str, str] = {}
        origins: frozenset[str] = frozenset()
        for name in wanted:
            served = next(
                (each for each in sorted(self._named) if each.name == name and each.website in sites), None
            )
            if served is None:
                raise SecretRefused(
                    name,
                    f"clients may not use {{secret:{name}}} at this address",
                    f"start the service with PERIPLUS_SERVE_SECRETS=WEBSITE/{name} (several with commas)",
                )
            found = await open_vault(served.vault_id, audited=False).secret(name)
            if found is None:
                raise SecretRefused(
                    name,
                    f"{{secret:{name}}} has no value in the service",
                    "give the service one: PERIPLUS_SECRET_<WEBSITE>_<NAME>, or a secrets file (docs/inputs.md)",
                )
            secrets[name] = found[0]
            origins |= sites[served.website] or frozenset({served.website})
        known = next((site for site, own in sorted(sites.items()) if own), None)
        return SiteGrant(known, tuple(sorted(origins)), secrets)

    async def grant_or_fail(self, requirement: Requirement) -> SiteGrant:
        """Return the grant for a run that begins now. Raises `UserError`: what was served may have changed."""
        try:
            return await self.grant(requirement)
        except SecretRefused as exc:
            raise UserError(exc.message, fix=exc.fix) from exc

    async def _find_sites(self, origin: str) -> dict[str, frozenset[str]]:
        """Return the websites that an origin belongs to, by id, with all their origins; the origin itself has none."""
        found: dict[str, frozenset[str]] = {origin: frozenset()}
        for website in await self._websites():
            own = frozenset(map(origin_of, (website.base_url, *website.allowed_origins)))
            if origin in own:
                found[website.website_id] = own
        return found


def _secrets_of(requirement: Requirement) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(name for step in requirement.steps for name in find_secret_names(step.value or ""))
    )
