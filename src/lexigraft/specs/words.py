"""Options as words of a command line. Every command imports this, so it imports nothing slow."""

from typing import Any


def flag(name: str) -> str:
    """Name of a command-line option."""
    return name.replace("_", "-")


def option(name: str, value: Any) -> list[str]:
    """Words that state one option on the command line."""
    if isinstance(value, bool):
        return [f"--{flag(name)}" if value else f"--no-{flag(name)}"]
    if isinstance(value, tuple):
        return [word for item in value for word in (f"--{flag(name)}", str(item))]
    return [f"--{flag(name)}", str(value)]
