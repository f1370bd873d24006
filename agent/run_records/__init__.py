"""Records of runs: the run log, the session trace, and outcome reports to the knowledge server."""
