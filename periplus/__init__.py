"""The composition root: settings, command line, servers. Wires the other packages, decides nothing."""

__version__ = "0.1.0"
