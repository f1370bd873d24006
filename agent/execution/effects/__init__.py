"""Effects of actions: dialogs, downloads and tabs, effect checks, and undo."""
