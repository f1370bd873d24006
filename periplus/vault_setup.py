"""Opens the vault of a website's secrets: environment, secrets file and keyring."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict

from agent.errors import PersonNeeded
from agent.execution.values.one_time_codes import SUFFIX, OneTimeCodeVault
from agent.execution.values.secret_vaults import (
    EnvironmentVault,
    FileVault,
    KeyringVault,
    Permits,
    VaultChain,
    own_variable_name,
    permit_all,
    secret_variable_name,
)
from agent.run_context import Vault
from kb_store.audit.audit_recorder import record_async
from periplus.errors import UserError
from periplus.named_secrets import NamedSecrets
from periplus.settings import read_settings


class SecretSettings(BaseSettings):
    """The environment's settings for secrets."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    secrets_file: Path | None = None
    """A YAML or JSON file of secrets that only its owner can read, or a folder with one file per secret."""
    keyring: bool = True
    """Whether to use the system's keyring, if its library is installed."""
    serve_secrets: NamedSecrets = frozenset()
    """General secrets that runs for clients over HTTP may use, each `WEBSITE/NAME`, separated by commas."""


class _AuditedVault:
    """Records in the audit log which secrets are read, each once."""

    def __init__(self, vault: Vault, website_id: str) -> None:
        self._vault, self._website_id = vault, website_id
        self._recorded: set[str] = set()

    async def secret(self, name: str) -> tuple[str, str] | None:
        """Return a secret and where it was found; see `Vault`."""
        found = await self._vault.secret(name)
        if found is not None and name not in self._recorded:
            self._recorded.add(name)
            await record_async("secret_used", f"{name} ({found[1]})", website=self._website_id)
        return found


def open_vault(
    website_id: str, *, audited: bool = True, for_client: bool = False, websites: Collection[str] = ()
) -> Vault:
    """Return a vault that reads the environment, then the file, then the keyring, and makes one-time codes.

    `audited`: the audit log names the secrets that are read; False for one who only asks whether there are any.
    `for_client`: only the website's own secrets, and general ones that `PERIPLUS_SERVE_SECRETS` names for it; no environment variable
    that could be an own one of another of the `websites`.
    Raises `UserError` for a file that is missing or readable by others.
    """
    settings = read_settings(SecretSettings, {})
    general = _permit_named(website_id) if for_client else permit_all
    others = {each for each in websites if for_client and each != website_id}

    def is_certain(name: str) -> bool:
        variable = own_variable_name(website_id, name)
        return not any(variable.startswith(own_variable_name(each)) for each in others)

    vaults: list[Vault] = [EnvironmentVault(website_id, general=general, own=is_certain)]
    if settings.secrets_file is not None:
        try:
            vaults.append(FileVault(settings.secrets_file, website_id, general=general))
        except PersonNeeded as exc:
            raise UserError(str(exc), fix=exc.hint) from exc
    if settings.keyring:
        with suppress(ImportError):  # an optional extra
            vaults.append(KeyringVault(website_id, general=general))
    chain = OneTimeCodeVault(VaultChain(vaults))
    return _AuditedVault(chain, website_id) if audited else chain


def may_have_secrets(website_id: str, known: Collection[str]) -> bool:
    """Return whether a new website of this id could be given secrets that are not meant for it.

    They are another website's if one of the `known` has, or could have, the same variables; and the operator's if the environment or
    the file has a part for this id before there is such a website. A keyring does not tell for whom it has any.
    """
    mine = own_variable_name(website_id)
    theirs = [own_variable_name(each) for each in known]
    if any(mine.startswith(each) for each in theirs) or any(
        each.startswith(mine) for each in (*theirs, *os.environ)
    ):
        return True
    settings = read_settings(SecretSettings, {})
    return settings.secrets_file is not None and FileVault(settings.secrets_file, website_id).has_own()


def _permit_named(website_id: str) -> Permits:
    """Permit the general secrets that the operator named for a website."""
    named = {
        secret_variable_name(each.name)
        for each in read_settings(SecretSettings, {}).serve_secrets
        if each.website == website_id
    }
    return lambda name: secret_variable_name(name.removesuffix(SUFFIX)) in named
