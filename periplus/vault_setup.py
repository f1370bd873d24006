"""Opens the vault of a website's secrets: environment, secrets file and keyring."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict

from agent.errors import PersonNeeded
from agent.execution.values.secret_vaults import EnvironmentVault, FileVault, KeyringVault, VaultChain
from agent.run_context import Vault
from periplus.errors import UserError
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


def open_vault(website_id: str) -> Vault:
    """Return a vault that reads the environment, then the file, then the keyring.

    Raises `UserError` for a file that is missing or readable by others.
    """
    settings = read_settings(SecretSettings, {})
    vaults: list[Vault] = [EnvironmentVault(website_id)]
    if settings.secrets_file is not None:
        try:
            vaults.append(FileVault(settings.secrets_file, website_id))
        except PersonNeeded as exc:
            raise UserError(str(exc), fix=exc.hint) from exc
    if settings.keyring:
        with suppress(ImportError):  # an optional extra
            vaults.append(KeyringVault(website_id))
    return VaultChain(vaults)
