"""Fleets: many workers with browsers that execute jobs in parallel.

`jobs` defines the interface, `local_fleet` and `cluster_fleet` implement it, and `fleet_setup` opens the one that
`--workers` names. `job_kinds` lists the kinds of jobs, `worker_resources` has what a worker reuses between jobs, and
`fenced_runs` makes sure that only one worker executes a run.
"""
