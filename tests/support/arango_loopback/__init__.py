"""An ArangoDB of the tests: checks every request against the documented API, answers from memory."""

from tests.support.arango_loopback.server import PASSWORD, USER, Loopback, free_port, loopback

__all__ = ["PASSWORD", "USER", "Loopback", "free_port", "loopback"]
