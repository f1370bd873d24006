"""`periplus verify`: stores, browser, logins, checkpoints and files around the graph of
`agent/verification`.

`requirement_verifier` verifies requirements, `verification_run` is the command's work. Importing this
package loads nothing heavy.
"""
