"""One live Spadeworks with its knowledge for all tests of a file."""

from tests.support.live_spadeworks import hasty_stores, live, stores  # noqa: F401 - fixtures
