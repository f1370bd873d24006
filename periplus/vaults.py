"""Which places secrets are looked for in: what the environment says, wired for one website."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict

from agent.context import Vault
from agent.errors import PersonNeeded
from agent.inputs.vaults import Environment, Keyring, SecretsFile, Vaults
from periplus.errors import UserError
from periplus.settings import read_settings


class SecretSettings(BaseSettings):
    """What the environment may set about secrets."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    secrets_file: Path | None = None
    """A YAML or JSON file of secrets that nobody else can read, or a folder with one file for each."""
    keyring: bool = True
    """Whether the system's keyring is asked, where the library for it is installed."""


def vault_for(website_id: str) -> Vault:
    """The environment, then the file, then the keyring. Raises `UserError` for a file that is missing
    or open to others.
    """
    settings = read_settings(SecretSettings, {})
    vaults: list[Vault] = [Environment(website_id)]
    if settings.secrets_file is not None:
        try:
            vaults.append(SecretsFile(settings.secrets_file, website_id))
        except PersonNeeded as exc:
            raise UserError(str(exc), fix=exc.hint) from exc
    if settings.keyring:
        with suppress(ImportError):  # an extra that is not installed
            vaults.append(Keyring(website_id))
    return Vaults(vaults)
