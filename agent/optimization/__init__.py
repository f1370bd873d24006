"""The optimization loop: runs pytest-playwright suites, heals failing locators live, and patches sources
(OL).
"""
