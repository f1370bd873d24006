"""One-time codes that change every 30 seconds, and the rule for accepting them."""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from seeds.spadeworks.site.state import Visitor

WINDOW_SECONDS = 30


@dataclass(frozen=True)
class OneTimeCodes:
    """The codes of one running site, the same for every visitor."""

    clock: Callable[[], float]
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def current(self) -> str:
        """Return the six digits of the present window."""
        return self._code(self._window())

    def seconds_left(self) -> int:
        """Return for how many more seconds (1-30) the current code is the current one."""
        return WINDOW_SECONDS - int(self.clock()) % WINDOW_SECONDS

    def redeem(self, visitor: Visitor, typed: str) -> bool:
        """Accept the code of this or the previous window, each once per visitor."""
        now = self._window()
        digits = "".join(typed.split())
        for window in (now, now - 1):
            if digits.isascii() and hmac.compare_digest(digits, self._code(window)):
                if window in visitor.used_code_windows:
                    return False
                visitor.used_code_windows = [*visitor.used_code_windows, window][-4:]
                return True
        return False

    def _window(self) -> int:
        return int(self.clock()) // WINDOW_SECONDS

    def _code(self, window: int) -> str:
        digest = hmac.digest(self._secret, str(window).encode(), hashlib.sha256)
        return f"{int.from_bytes(digest[:8]) % 1_000_000:06d}"
