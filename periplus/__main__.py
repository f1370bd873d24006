"""`python -m periplus`."""

from periplus.cli import main

if __name__ == "__main__":
    main()
