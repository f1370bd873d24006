"""Applications from the package registries, each with a script that installs, starts and seeds it."""
