"""Who may ask, what of, and how much: tokens, OAuth, scopes, limits, and the HTTP door.

Nothing here knows a tool or a website. What every transport needs is in `limits` and `access`; the
rest is for HTTP (`door` puts it together).
"""
