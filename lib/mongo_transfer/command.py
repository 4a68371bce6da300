"""The command: `python -m mongo_transfer --source-url mongodb://a/ --target-url mongodb://b/`."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchbook.errors import BadInput, writing
from benchbook.user_input import guard
from mongo_transfer import progress
from mongo_transfer.engine import TransferReport, TransferWatcher, transfer
from mongo_transfer.proof import prove
from mongo_transfer.settings import MongoEndpoint, Settings

_EXIT_STATUS = {"complete": 0, "failed": 1, "interrupted": 130}

Option = typer.Option


def run(  # noqa: PLR0913, PLR0917 - the options of a command
    source_url: Annotated[str, Option(help="Server to read, mongodb://[user@]host:port/; no password in it.")],
    target_url: Annotated[str, Option(help="Server to write; databases keep their names.")],
    databases: Annotated[str, Option(help="Databases to copy: an expression that matches whole names.")] = ".+",
    collections: Annotated[str, Option(help="Collections to copy, likewise.")] = ".+",
    source_threads: Annotated[int, Option(help="Readers.")] = 2,
    target_threads: Annotated[int, Option(help="Writers.")] = 6,
    cache_bucket_size: Annotated[int, Option(help="Batches kept in one bucket of the cache.")] = 8,
    cache_bucket_num: Annotated[int, Option(help="Buckets. Documents in flight <= size x num x batch size.")] = 8,
    batch_size: Annotated[int, Option(help="Documents in a batch: what one write takes.")] = 1000,
    create_index_threads: Annotated[int, Option(help="Collections whose indexes are created at a time.")] = 2,
    processes: Annotated[int | None, Option(help="Worker processes; as many as cores if not given.")] = None,
    retry_seconds: Annotated[float, Option(help="How long a lost server is waited for.")] = 60.0,
    connect_seconds: Annotated[float, Option(help="How long a server is waited for at the start.")] = 5.0,
    source_password_file: Annotated[Path | None, Option(help="Or set BENCHBOOK_SOURCE_PASSWORD.")] = None,
    target_password_file: Annotated[Path | None, Option(help="Or set BENCHBOOK_TARGET_PASSWORD.")] = None,
    samples: Annotated[
        Path | None, Option(help="File for one JSON line a second: t, documents, rate, cpu_s, rss_mb.")
    ] = None,
    report: Annotated[Path | None, Option(help="File for the report, beside standard output.")] = None,
    verify: Annotated[bool, Option("--verify", help="Compare counts and hashes of both sides afterwards.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="No progress.")] = False,
) -> None:
    """Copies MongoDB databases from one server to another and prints a report as JSON.

    Interrupted or killed, it is safe to start again: documents are told apart by _id, and only what is missing or
    different is written. Collection options and indexes are copied as far as the target supports them. Exit status: 0
    done, 1 failed, 2 bad input (nothing was written), 130 interrupted.
    """
    settings = Settings(
        source=MongoEndpoint.with_secret(source_url, source_password_file, "BENCHBOOK_SOURCE_PASSWORD"),
        target=MongoEndpoint.with_secret(target_url, target_password_file, "BENCHBOOK_TARGET_PASSWORD"),
        databases=databases,
        collections=collections,
        source_threads=source_threads,
        target_threads=target_threads,
        cache_bucket_size=cache_bucket_size,
        cache_bucket_num=cache_bucket_num,
        batch_size=batch_size,
        create_index_threads=create_index_threads,
        processes=processes,
        retry_seconds=retry_seconds,
        connect_seconds=connect_seconds,
    )
    if report is not None:
        _writable(report)
    done = _watched(settings, samples, quiet=quiet)
    _publish(done, report)
    if verify and done.status == "complete":
        _verify(settings)
    raise typer.Exit(_EXIT_STATUS[done.status])


def _verify(settings: Settings) -> None:
    prove(settings.source, settings.target, databases=settings.databases, collections=settings.collections)


def _watched(settings: Settings, samples: Path | None, *, quiet: bool) -> TransferReport:
    # A SIGTERM (a batch system, a supervisor) ends like Ctrl-C: workers stopped, what was written reported.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as stack:
        watchers: list[TransferWatcher] = []
        if not quiet:
            watchers.append(stack.enter_context(progress.shown(sys.stderr)))
        if samples is not None:
            watchers.append(stack.enter_context(_sample_file(samples)))
        return transfer(settings, tuple(watchers))


def _writable(path: Path) -> None:
    """Asked before anything is copied: a report that cannot be written would be lost at the end."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        fix = "name a file in a folder that you may write to"
        raise BadInput("cannot be written", file=path, key="--report", value=str(path), fix=fix)


def _sample_file(path: Path) -> progress.SampleFile:
    try:
        return progress.SampleFile(path)
    except OSError as error:
        fix = "name a file in a folder that you may write to"
        said = f"cannot be written: {error.strerror}"
        raise BadInput(said, file=path, key="--samples", value=str(path), fix=fix) from error


def _publish(done: TransferReport, path: Path | None) -> None:
    text = done.as_json()
    print(text, flush=True)
    if path is not None:
        with writing(path):
            path.write_text(text + "\n", encoding="utf-8")
    if done.error:
        print(f"transfer: {done.status}: {done.error}", file=sys.stderr)
    for note in done.notes:
        print(f"transfer: not copied: {note}", file=sys.stderr)


def main() -> None:
    """Runs the command; an error ends it with one paragraph and its exit status (`--debug` shows its stack)."""
    # Plain tracebacks: the pretty ones can show the values of variables, passwords among them.
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False, rich_markup_mode=None)
    app.command()(run)
    guard.begin(_say)
    sys.exit(guard.status_of(partial(app, prog_name="python -m mongo_transfer"), _say))


def _say(text: str) -> None:
    print(f"transfer: {text}", file=sys.stderr)
