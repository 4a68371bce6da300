"""A reader that has gone, as `head` does after its lines: no result of the command, and told apart from all of them."""

from __future__ import annotations

# What a shell says of a program that SIGPIPE ended: 128 + 13.
READER_GONE = 141


def is_why(ended: SystemExit) -> bool:
    """Whether the program ends because it could not print any more.

    rich and click both turn that into exit status 1, which a command may mean otherwise; what they caught is its
    context.
    """
    return isinstance(ended.__context__, BrokenPipeError)
