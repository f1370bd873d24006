"""The browser of the tests, for benchmarks that pytest runs."""

from tests.conftest import browser, chromium_path

__all__ = ["browser", "chromium_path"]
