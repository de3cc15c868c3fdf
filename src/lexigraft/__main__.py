"""Entry point of the `lexigraft` command."""

import sys

from lexigraft.warm import borrow


def main() -> None:
    """Have a warm process do it where a workflow keeps one, or else do it here."""
    if (code := borrow()) is not None:
        sys.exit(code)
    from lexigraft.cli import app

    app(prog_name="lexigraft")


if __name__ == "__main__":
    main()
