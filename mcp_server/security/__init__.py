"""Security of the server: tokens, OAuth, scopes, limits, and the HTTP app.

Nothing here knows a tool or a website. `call_limits` and `access_scopes` serve every transport. The rest is for HTTP,
where `http_app` combines it.
"""
