"""One module per command, each with a Typer `app`. Listed in `periplus.cli.COMMANDS`."""
