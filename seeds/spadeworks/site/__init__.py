"""The Spadeworks web application: a small product to learn, to demonstrate and to test on.

Start it with ``python -m seeds.spadeworks.site``; sign in as
``demo@spadeworks.example`` with the password ``spadeworks-demo``.
Everything lives in memory, and every visitor has a workspace of their own.
"""
