"""Single commands to a MongoDB server without accounts, by way of a host."""

from __future__ import annotations

import pymongo
from pymongo.errors import PyMongoError

from benchbook.errors import ConnectionLost, SystemFailed
from benchbook.hosts.host import Host
from mongo_transfer.settings import Document

# What a server that is not there, or not yet, makes of a command.
UNANSWERED = (OSError, EOFError, ConnectionLost, PyMongoError)


def ask(
    via: Host, address: str, port: int, command: Document, *, database: str = "admin", timeout: float = 60.0
) -> Document:
    """Return the server's reply, whatever it says. Raise what UNANSWERED lists."""
    milliseconds = int(timeout * 1000)
    with (
        via.forward_local(address, port) as local,
        pymongo.MongoClient[Document](
            *local, directConnection=True, serverSelectionTimeoutMS=milliseconds, socketTimeoutMS=milliseconds
        ) as client,
    ):
        reply: Document = client[database].command(command, check=False)
        return reply


def tell(via: Host, address: str, port: int, command: Document, *, database: str = "admin") -> Document:
    """Return the reply to a command that must succeed. Raise SystemFailed with the server's own words."""
    where, name = f"{address}:{port}", next(iter(command))
    try:
        reply = ask(via, address, port, command, database=database)
    except UNANSWERED as problem:
        raise SystemFailed(f"{where}: no answer to {name}: {problem!r}") from problem
    if reply.get("ok") != 1:
        raise SystemFailed(f"{where}: {name}: {reply.get('errmsg', reply)}")
    return reply
