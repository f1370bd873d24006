"""`periplus serve`: PACTS section 10's REST service, with MCP beside it and a page that shows how it stands.

`app` puts the ASGI app together, `queue` keeps submissions in order, `carrying` does one run; who verifies
is behind `ports.Verifier`.
"""
