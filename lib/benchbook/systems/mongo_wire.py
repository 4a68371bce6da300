"""Single commands in the MongoDB wire protocol, through the SSH connection of a host, to servers without accounts.

PyMongo opens its own sockets and cannot be given a channel, so this is OP_MSG with one body section and nothing else:
https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/#op_msg
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import bson

from benchbook.errors import ConnectionLost, SystemFailed
from mongo_transfer.settings import Document

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    import paramiko

    from benchbook.hosts.remote_host import RemoteHost

_LENGTH = Struct("<i")
# Length, request, response to, opcode (2013 = OP_MSG), flags, kind of the section (0 = body).
_HEAD = Struct("<iiiiIb")
_OP_MSG = 2013
# What a server that is not there, or not yet, makes of a command.
UNANSWERED = (OSError, EOFError, ConnectionLost)


def ask(
    via: RemoteHost, address: str, port: int, command: Document, *, database: str = "admin", timeout: float = 60.0
) -> Document:
    """The server's reply, whatever it says. Raises what UNANSWERED lists."""
    channel = via.tunnel(address, port)
    channel.settimeout(timeout)
    try:
        body = bson.encode({**command, "$db": database})
        channel.sendall(_HEAD.pack(_HEAD.size + len(body), 1, 0, _OP_MSG, 0, 0) + body)
        (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size))
        reply: Document = bson.decode(_exactly(channel, length - _LENGTH.size)[_HEAD.size - _LENGTH.size :])
        return reply
    finally:
        channel.close()


def tell(via: RemoteHost, address: str, port: int, command: Document, *, database: str = "admin") -> Document:
    """Like `ask`, for a command that must succeed. Raises SystemFailed with the server's own words."""
    where, name = f"{address}:{port}", next(iter(command))
    try:
        reply = ask(via, address, port, command, database=database)
    except UNANSWERED as problem:
        raise SystemFailed(f"{where}: no answer to {name}: {problem!r}") from problem
    if reply.get("ok") != 1:
        raise SystemFailed(f"{where}: {name}: {reply.get('errmsg', reply)}")
    return reply


def _exactly(channel: paramiko.Channel, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = channel.recv(count - len(parts))
        if not part:
            raise EOFError("the server closed the connection")
        parts += part
    return bytes(parts)
