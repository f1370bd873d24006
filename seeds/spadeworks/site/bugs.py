"""The ways in which the site itself can be wrong on purpose: releases with a bug, for tests that must notice.

Armed through ``control.py`` for everybody and for good, unlike the faults of ``faults.py``, which happen
to single requests. The routes and templates of the area concerned carry a bug out.
"""

from enum import StrEnum


class Bug(StrEnum):
    """Every bug the site can be told to have."""

    WRONG_TOTAL = "wrong_total"  # a campaign's review says one person more than it will reach
    WRONG_IMPORT_COUNT = "wrong_import_count"  # the message says one contact more than was imported
    MISSING_TOAST = "missing_toast"  # no message is ever shown
    DELETE_KEEPS = "delete_keeps"  # deleting an agent says so and keeps it
    CONSOLE_ERROR = "console_error"  # a script of the agent form fails; the form works
    VALIDATION_MISSING = "validation_missing"  # an agent without a name is accepted
    WRONG_VALIDATION_TEXT = "wrong_validation_text"  # the missing name is refused in the wrong words
    BUTTON_GONE = "button_gone"  # an agent's edit form does not offer to delete it
    DEAD_BUTTON = "dead_button"  # the button that launches a campaign does nothing
    WRONG_REDIRECT = "wrong_redirect"  # signing in leads to the settings
    WRONG_NAME_SAVED = "wrong_name_saved"  # the first letter of an agent's name is lost
    SAVE_DISABLED = "save_disabled"  # the agent form's Save is disabled, whatever is filled in
    STUCK_OVERLAY = "stuck_overlay"  # something lies over the agent form and does not go away


class BugBoard:
    """The bugs the site has now. None, unless a test armed one."""

    def __init__(self) -> None:
        self._armed: dict[Bug, None] = {}

    def arm(self, bug: Bug) -> None:
        """Have this bug from now on."""
        self._armed[bug] = None

    def clear(self) -> None:
        """Fix everything."""
        self._armed.clear()

    def all(self) -> list[Bug]:
        """Return every bug, the one armed last at the end."""
        return list(self._armed)

    def __contains__(self, bug: object) -> bool:
        return bug in self._armed
