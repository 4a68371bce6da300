"""What was guessed of a document, how it is written down, and what nobody has confirmed yet."""

from __future__ import annotations

from pydantic import Field

from benchbook import paths
from benchbook.user_input import user_file, yaml_file
from benchbook.user_input.yaml_file import Strict

GUESSES = "guesses.yaml"
# The key of a guess: which system here runs in the place of the document's.
SYSTEM = "system"


class Guess(Strict):
    """One thing that was read out of a document: where it was put, from which line it comes, and how sure it is."""

    file: str
    key: str
    guess: str
    line: int
    sure: float = Field(ge=0, le=1)
    printed: str = ""


class _GuessesFile(Strict):
    guesses: list[Guess] = []


class Guesses(list[Guess]):
    """The guesses of a draft, as they are made."""

    def add(self, file: str, key: str, guess: str, line: int, sure: float, printed: str = "") -> None:
        self.append(Guess(file=file, key=key, guess=guess, line=line, sure=sure, printed=printed))


def unconfirmed(report: str) -> list[Guess]:
    """Return the guesses of a drafted report that nobody has confirmed, the least sure first."""
    path = paths.published_dir(report) / GUESSES
    if not user_file.is_there(path):
        return []
    return sorted(yaml_file.load_model(_GuessesFile, path).guesses, key=lambda one: one.sure)
