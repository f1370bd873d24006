"""Recognises controls, addresses and requests that may change data and must not be tried."""
