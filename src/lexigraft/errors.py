"""The one error that a person is meant to read."""


class LexigraftError(Exception):
    """Bad input, told in one sentence.

    The sentence names the file, the key or the record, what was found and what is allowed. The
    command prints it without a traceback and exits with code 2.
    """
