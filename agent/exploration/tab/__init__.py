"""The browser tab of an exploration: navigation, attempts and form filling."""
