"""One-time codes of a second factor from a stored TOTP secret (RFC 6238, RFC 4226).

The standard library is enough for it: a message digest and a truncation. The secret itself never leaves this module.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from agent.errors import PersonNeeded
from agent.run_context import Vault

SUFFIX = "_totp"
"""The secret of the code `NAME` is stored as `NAME_totp`: `PERIPLUS_SECRET_<NAME>_TOTP`."""
ONE_TIME_CODE = "one-time code"
"""Where a value comes from that is valid for one period only."""
_DIGESTS = {"SHA1": hashlib.sha1, "SHA256": hashlib.sha256, "SHA512": hashlib.sha512}
_FORM = "base32, as the site shows it beside its QR code, or the otpauth://totp/... address in the QR code"


@dataclass(frozen=True, slots=True, repr=False)
class TotpSecret:
    """A shared secret and how codes are made of it."""

    key: bytes
    digits: int = 6
    period_s: int = 30
    digest: str = "SHA1"

    def code_at(self, seconds: float) -> str:
        """Return the code that is valid at a time, in seconds since 1970."""
        counter = int(seconds // self.period_s).to_bytes(8, "big")
        made = hmac.digest(self.key, counter, _DIGESTS[self.digest])
        offset = made[-1] & 15
        number = int.from_bytes(made[offset : offset + 4], "big") & 0x7FFFFFFF
        return str(number % 10**self.digits).zfill(self.digits)


def parse_totp_secret(text: str) -> TotpSecret:
    """Read a secret in base32, with or without spaces, hyphens and padding, or an `otpauth://totp/` address.

    Raises `ValueError`, whose text does not quote the secret.
    """
    if not text.strip().lower().startswith("otpauth:"):
        return TotpSecret(_decode_key(text))
    try:
        address = urlsplit(text.strip())
        given = {name.lower(): values[-1] for name, values in parse_qs(address.query).items()}
    except ValueError:
        raise ValueError("the otpauth address cannot be read") from None
    if address.netloc.lower() != "totp":
        raise ValueError("the otpauth address is not of kind `totp`")
    try:
        digits, period = int(given.get("digits", "6")), int(given.get("period", "30"))
    except ValueError:
        raise ValueError("`digits` or `period` of the otpauth address is no number") from None
    digest = given.get("algorithm", "SHA1").upper().replace("-", "")
    if not 6 <= digits <= 10 or not 1 <= period <= 3_600 or digest not in _DIGESTS:
        raise ValueError("expected 6 to 10 digits, a period of 1 to 3600 s, and SHA1, SHA256 or SHA512")
    return TotpSecret(_decode_key(given.get("secret", "")), digits, period, digest)


def _decode_key(text: str) -> bytes:
    plain = "".join(text.split()).replace("-", "").rstrip("=").upper()
    try:
        key = base64.b32decode(plain + "=" * (-len(plain) % 8))
    except (binascii.Error, ValueError):
        raise ValueError("the secret is not base32") from None
    if not key:
        raise ValueError("the secret is empty")
    return key


class OneTimeCodeVault:
    """A vault that answers `NAME` with the current code where its store has no `NAME` but a `NAME_totp`."""

    def __init__(self, vault: Vault, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since 1970."""
        self._vault, self._clock = vault, clock

    async def secret(self, name: str) -> tuple[str, str] | None:
        """Return a stored secret and its place, or the current code. Raises `PersonNeeded` for a bad TOTP secret."""
        found = await self._vault.secret(name)
        if found is not None:
            return found
        stored = await self._vault.secret(name + SUFFIX)
        if stored is None:
            return None
        text, place = stored
        try:
            return parse_totp_secret(text).code_at(self._clock()), ONE_TIME_CODE
        except ValueError as exc:
            raise PersonNeeded(
                f"the TOTP secret {name + SUFFIX!r} ({place}) cannot be used: {exc}",
                hint=f"store it as {_FORM}",
            ) from None
