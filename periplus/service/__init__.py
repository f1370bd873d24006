"""The REST service of `periplus serve` (PACTS 10). `periplus.web_server` joins it with MCP and the console.

`run_queue` queues submissions, `submission_execution` executes one run, and
`periplus.verifier_ports.VerifierPort` is the interface to the verifier.
"""
