"""Vaults for secrets: the environment, a file or folder, the system's keyring (`agent.run_context.Vault`).

Only inputs marked `secret` are looked up here. Nothing is ever written.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from agent.errors import PersonNeeded
from agent.run_context import Vault

ENVIRONMENT = "PERIPLUS_SECRET_"
Permits = Callable[[str], bool]
"""Whether a secret that is not the website's own may be used, by its name."""
SERVICE = "periplus"
"""Service name in the keyring; for one website `periplus:WEBSITE`."""
KEYRING_TIMEOUT_S = 60.0
"""Seconds a keyring may take: a person may have to unlock it first."""


def permit_all(_name: str) -> bool:
    """Permit every general secret."""
    return True


class EnvironmentVault:
    """Environment variables: `PERIPLUS_SECRET_<WEBSITE>_<NAME>`, then `PERIPLUS_SECRET_<NAME>`, upper case.

    The first one is not read for a name that `own` does not permit: it may be another website's.
    """

    def __init__(
        self,
        website_id: str,
        environ: Mapping[str, str] | None = None,
        *,
        general: Permits = permit_all,
        own: Permits = permit_all,
    ) -> None:
        self._website_id, self._environ = website_id, os.environ if environ is None else environ
        self._general, self._own = general, own

    async def secret(self, name: str) -> tuple[str, str] | None:
        """Return the website's own secret, else the general one."""
        variables = [own_variable_name(self._website_id, name)] if self._own(name) else []
        if self._general(name):
            variables.append(secret_variable_name(name))
        for variable in variables:
            if self._environ.get(variable):
                return self._environ[variable], "environment"
        return None


def secret_variable_name(name: str) -> str:
    """Return the environment variable of a secret.

    >>> secret_variable_name("api-key")
    'PERIPLUS_SECRET_API_KEY'
    """
    return ENVIRONMENT + re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def own_variable_name(website_id: str, name: str = "") -> str:
    """Return the environment variable of a website's own secret; without a name, what all of its variables begin with.

    Two websites may have the same one: `shop` with `admin_password`, and `shop_admin` with `password`.
    """
    return secret_variable_name(f"{website_id}_{name}")


class FileVault:
    """A YAML or JSON file `{name: secret, WEBSITE: {name: secret}}`, or a folder with one file per secret
    (`NAME`, `WEBSITE/NAME`), as container platforms mount them.

    A file that other users can read or change is refused. Files are read again each time: a secret may be
    replaced.
    """

    def __init__(self, path: Path, website_id: str, *, general: Permits = permit_all) -> None:
        """Raises `PersonNeeded` for a file that is missing, unreadable, or open to other users."""
        self._path, self._website_id, self._general = path, website_id, general
        if path.is_dir():
            return
        self._read_all()

    async def secret(self, name: str) -> tuple[str, str] | None:
        """Return the website's own secret, else the general one. Raises `PersonNeeded`."""
        found = await asyncio.to_thread(self._find, name)
        return None if found is None else (found, "file")

    def has_own(self) -> bool:
        """Return whether the file or folder has a part for the website. Raises `PersonNeeded`."""
        return (
            (self._path / self._website_id).exists()
            if self._path.is_dir()
            else self._website_id in self._read_all()
        )

    def _find(self, name: str) -> str | None:
        if self._path.is_dir():
            of_website = self._path / self._website_id / name
            for path in (of_website, self._path / name) if self._general(name) else (of_website,):
                if path.is_file():
                    return _text_of(path).removesuffix("\n").removesuffix("\r")
            return None
        known = self._read_all()
        own = known.get(self._website_id)
        found = own.get(name) if isinstance(own, dict) else None
        found = known.get(name) if found is None and self._general(name) else found
        return found if isinstance(found, str) else None

    def _read_all(self) -> dict[str, Any]:
        try:
            # The base loader keeps every value as text: 0123 stays 0123.
            known = yaml.load(_text_of(self._path), yaml.BaseLoader)  # noqa: S506 - makes nothing but texts
        except yaml.YAMLError as exc:
            # The parser's own message would quote the line.
            raise PersonNeeded(
                f"the secrets file {self._path} is neither YAML nor JSON",
                hint="write lines of the form NAME: SECRET",
            ) from _without_text(exc)
        if not isinstance(known, dict):
            raise PersonNeeded(
                f"the secrets file {self._path} is no mapping", hint="write lines of the form NAME: SECRET"
            )
        return known


def _without_text(error: yaml.YAMLError) -> Exception:
    return ValueError(type(error).__name__)


def _text_of(path: Path) -> str:
    """Return the content of a file that no other user can read or change. Raises `PersonNeeded`."""
    try:
        with path.open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if os.name == "posix" and mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
                raise PersonNeeded(
                    f"the secrets file {path} can be read or changed by other users (mode {mode:o})",
                    hint=f"chmod 600 {path}",
                )
            return file.read()
    except OSError as exc:
        raise PersonNeeded(
            f"the secrets file {path} cannot be read: {exc.strerror}", hint="correct its path or its mode"
        ) from exc
    except UnicodeDecodeError as exc:
        raise PersonNeeded(f"the secrets file {path} is not UTF-8 text", hint="save it as UTF-8") from exc


class KeyringVault:
    """The system's keyring, through the package `keyring`: service `periplus:WEBSITE`, then `periplus`."""

    def __init__(self, website_id: str, *, general: Permits = permit_all) -> None:
        """Raises `ImportError` without the package (`pip install periplus[keyring]`)."""
        import keyring  # noqa: PLC0415 - an extra
        from keyring.errors import KeyringError  # noqa: PLC0415

        self._ask, self._error = keyring.get_password, KeyringError
        self._own, self._general = f"{SERVICE}:{website_id}", general

    async def secret(self, name: str) -> tuple[str, str] | None:
        """Return None also if there is no keyring, it stays locked, or it does not answer."""
        for service in (self._own, SERVICE) if self._general(name) else (self._own,):
            try:
                found = await asyncio.wait_for(
                    asyncio.to_thread(self._ask, service, name), timeout=KEYRING_TIMEOUT_S
                )
            except (self._error, TimeoutError):
                return None
            if found:
                return found, "keyring"
        return None


class VaultChain:
    """Several vaults, asked in order."""

    def __init__(self, vaults: Sequence[Vault]) -> None:
        self._vaults = tuple(vaults)

    async def secret(self, name: str) -> tuple[str, str] | None:
        """Return the secret from the first vault that has it."""
        for vault in self._vaults:
            found = await vault.secret(name)
            if found is not None:
                return found
        return None
