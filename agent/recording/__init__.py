"""Watching a person work and writing down what was done: `recorder` in a browser, `replaying` what it
wrote. The script in the page is `recorder.js`.
"""
