"""Spadeworks' knowledge, loaded once for all."""

from tests.support.visitors import shelf  # noqa: F401 - a fixture
