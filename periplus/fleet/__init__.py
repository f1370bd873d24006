"""Work of many browsers: what is asked for once, done by many workers, each thing once.

`ports` says what a fleet is, `local` and `cluster` are the two there are, `opening` chooses by `--workers`.
What a worker does for each kind of job is in `kinds`; what it keeps between jobs in `home`; how it makes
sure that nobody else does the same in `lives`. Nothing here knows a command.
"""
