"""`periplus verify` wired up: stores, browser, logins, checkpoints and files around the graph of `agent/verifying`.

`verifier` verifies requirements, `work` is what the command does with it; importing this alone loads nothing heavy.
"""
