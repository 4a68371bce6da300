"""What a trial needs around a transfer, as commands: `python -m mongo_transfer.tools load|digest|clear`."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchbook.user_input import guard
from mongo_transfer import dataset, proof
from mongo_transfer.settings import MongoEndpoint

_LINE_EVERY = 100_000

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False, rich_markup_mode=None)


@app.command()
def load(
    url: Annotated[str, typer.Option(help="Server, mongodb://[user@]host:port/; no password in it.")],
    documents: Annotated[int, typer.Option(help="Over all ten collections.")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    database: Annotated[str, typer.Option(help="Of the data set; made anew if it holds another one.")] = "ddt",
    password_file: Annotated[Path | None, typer.Option(help="Or set BENCHBOOK_SOURCE_PASSWORD.")] = None,
) -> None:
    """Loads the data set unless the server holds it; prints its identity as JSON."""
    endpoint = MongoEndpoint.with_secret(url, password_file, "BENCHBOOK_SOURCE_PASSWORD")
    wanted = dataset.DocumentSet(seed, documents, database)
    is_new = dataset.load(endpoint, wanted, _say)
    print(json.dumps({"identity": wanted.identity, "documents": documents, "loaded": is_new}))


def _say(done: int, total: int) -> None:
    if done % _LINE_EVERY == 0 or done == total:
        print(f"load: {done}/{total} documents", file=sys.stderr, flush=True)


@app.command()
def digest(
    url: Annotated[str, typer.Option(help="Server, mongodb://[user@]host:port/; no password in it.")],
    database: Annotated[str, typer.Option(help="Of which every collection is read.")] = "ddt",
    password_file: Annotated[Path | None, typer.Option(help="Or set BENCHBOOK_SOURCE_PASSWORD.")] = None,
) -> None:
    """Reads a server back; prints documents, bytes and hash of every collection as JSON."""
    endpoint = MongoEndpoint.with_secret(url, password_file, "BENCHBOOK_SOURCE_PASSWORD")
    found = proof.digest(endpoint, databases=re.escape(database))
    print(json.dumps({"collections": [asdict(each) for each in found]}))


@app.command()
def clear(
    url: Annotated[str, typer.Option(help="The target of the next transfer.")],
    database: Annotated[str, typer.Option(help="Dropped, if it is the copy of an earlier run.")] = "ddt",
    password_file: Annotated[Path | None, typer.Option(help="Or set BENCHBOOK_TARGET_PASSWORD.")] = None,
) -> None:
    """Makes room on a target: drops what an earlier run copied there, and refuses to drop anything else."""
    dataset.make_room(MongoEndpoint.with_secret(url, password_file, "BENCHBOOK_TARGET_PASSWORD"), database)


def main() -> None:
    """Runs the command; an error ends it with one paragraph and its exit status (`--debug` shows its stack)."""
    guard.begin(_tell)
    sys.exit(guard.status_of(partial(app, prog_name="python -m mongo_transfer.tools"), _tell))


def _tell(text: str) -> None:
    print(f"tools: {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
