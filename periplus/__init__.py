"""Settings, command line and servers. Connects the other packages and contains no decisions of its own."""

__version__ = "0.1.0"
