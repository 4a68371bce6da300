"""What must be there before a run, however it comes: built from source (programs) or fetched (fetched)."""

from __future__ import annotations

from pathlib import Path

from benchbook.build import fetched, programs
from benchbook.build.programs import Say
from benchbook.user_input.choices import one_of


def names() -> list[str]:
    """Return every system that `provide` knows, sorted."""
    return sorted({*programs.systems(), *fetched.systems()})


def provide(name: str, say: Say = print) -> Path:
    """Build or fetch NAME unless it is there; returns its folder in the cache.

    Raise BadInput for an unknown one, BuildFailed, NotFetched, WrongPackage, NotWritten.
    """
    one_of(name, names(), "system", problem="nothing of this name is built or fetched")
    return fetched.fetch(name, say) if name in fetched.systems() else programs.build(name, say)


def is_there(name: str) -> bool:
    """Return whether a run of NAME has nothing left to build or fetch."""
    return fetched.is_fetched(name) if name in fetched.systems() else programs.is_built(name)


def state(name: str) -> str:
    """Return how NAME comes here, and whether it is ready, in words."""
    how, done = ("fetched by Maven", "fetched") if name in fetched.systems() else ("built from source", "built")
    return f"{how}, pinned; {'ready' if is_there(name) else f'{done} on first use, or by `benchbook build {name}`'}"
