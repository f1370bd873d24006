"""Records the actions of a person in a browser (`demonstration_recorder`) and replays them (`recording_replay`).

`demonstration_recorder.js` is the script in the page.
"""
