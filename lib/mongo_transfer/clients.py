"""Connections to the two servers, and the question whether they are one."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pymongo import MongoClient
from pymongo.errors import ConfigurationError, ConnectionFailure, InvalidURI, OperationFailure, PyMongoError
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from benchbook.errors import BadInput
from mongo_transfer.settings import Document, MongoEndpoint

Client = MongoClient[Document]

_AUTHENTICATION = {
    11: "UserNotFound",
    13: "Unauthorized",
    18: "AuthenticationFailed",
    334: "MechanismUnavailable",
    8000: "AtlasError",
}
_PROBE_DATABASE = "benchbook_probe"


def connect(endpoint: MongoEndpoint, seconds: float = 5.0, *, answer_seconds: float | None = None) -> Client:
    """A client of the endpoint. Raises BadInput for a URL or password that cannot be used; contacts nobody yet.

    `answer_seconds` bounds the wait for an answer: a connection may be lost without either side being told.
    """
    optional: Document = {"password": endpoint.password} if endpoint.password else {}
    optional |= {"socketTimeoutMS": int(answer_seconds * 1000)} if answer_seconds else {}
    try:
        return MongoClient(
            endpoint.url,
            **optional,
            serverSelectionTimeoutMS=int(seconds * 1000),
            connectTimeoutMS=int(seconds * 1000),
            appname="benchbook-transfer",
            # Whatever the URL says: what is carried over is not decoded, and a collection's own UUID is bytes.
            uuidRepresentation="unspecified",
            # Retries are ours: they are bounded in time, and know what a batch that may have arrived needs.
            retryReads=False,
            retryWrites=False,
        )
    except (ConfigurationError, InvalidURI) as error:
        raise BadInput(f"{error}", key=endpoint.name, fix="check the URL, the user and the password") from error


@contextmanager
def connected(endpoint: MongoEndpoint, seconds: float = 5.0) -> Iterator[Client]:
    """A client that answers, closed at the end. Raises BadInput where the server cannot be reached or says no."""
    client = connect(endpoint, seconds)
    try:
        greet(client, endpoint)
        yield client
    finally:
        client.close()


@contextmanager
def answering(endpoint: MongoEndpoint, failure: Callable[[str], Exception]) -> Iterator[None]:
    """Raises `failure` of one line, which names the server, where it is lost or refuses what the block asks of it."""
    try:
        yield
    except PyMongoError as error:
        said = reason(error)
        # Of a lost connection it begins with the address.
        raise failure(said if said.startswith(endpoint.name) else f"{endpoint.name}: {said}") from error


def greet(client: Client, endpoint: MongoEndpoint) -> None:
    """Log in. Raises BadInput with what is wrong."""
    try:
        client.admin.command("ping")
        # A command that needs rights: some servers answer `ping` to anybody.
        client.list_database_names()
    except ConnectionFailure as error:
        first = str(error).split(",")[0]
        raise BadInput(f"cannot be reached: {first}", key=endpoint.name, fix="start it, or correct the URL") from error
    except OperationFailure as error:
        said = "authentication failed" if error.code in _AUTHENTICATION else "it refuses"
        raise BadInput(
            f"{said}: {reason(error)}",
            key=endpoint.name,
            fix="check the user, authSource and the password (file or environment variable)",
        ) from error


def refuse_same_server(source: Client, target: Client, names: tuple[str, str]) -> None:
    """BadInput if both clients reach one server: by address, by process identity, or by a mark seen through both."""
    if _addresses(source) & _addresses(target) or _same_process(source, target) or _sees_mark(source, target):
        raise BadInput(
            f"source {names[0]} and target {names[1]} are the same server",
            fix="name two servers: a transfer keeps the names of the databases",
        )


def _addresses(client: Client) -> set[tuple[str, int]]:
    found = set()
    for host, port in client.topology_description.server_descriptions():
        try:
            found |= {(str(info[4][0]), port or 0) for info in socket.getaddrinfo(host, port)}
        except socket.gaierror:
            found.add((host, port or 0))
    return found


def _same_process(source: Client, target: Client) -> bool:
    mine, other = (
        client.admin.command("hello").get("topologyVersion", {}).get("processId") for client in (source, target)
    )
    return mine is not None and mine == other


def _sees_mark(source: Client, target: Client) -> bool:
    # Written to the target, looked for in the source, and removed: the only test that sees through any alias.
    mark = {"_id": secrets.token_hex(16)}
    marks = target[_PROBE_DATABASE]["marks"]
    marks.insert_one(mark)
    try:
        return source[_PROBE_DATABASE]["marks"].find_one(mark) is not None
    finally:
        target.drop_database(_PROBE_DATABASE)


def patiently(seconds: float, stopped: Callable[[], bool]) -> Retrying:
    """Retries lost connections with growing pauses, until the server is back, `seconds` are over, or we are stopped."""
    out_of_time = stop_after_delay(seconds)

    def enough(state: RetryCallState) -> bool:
        return stopped() or out_of_time(state)

    return Retrying(
        retry=retry_if_exception_type(ConnectionFailure),
        stop=enough,
        wait=wait_exponential(multiplier=0.1, max=2.0),
        reraise=True,
    )


def reason(error: PyMongoError) -> str:
    """An error of the server in one line, without the reply's dump."""
    details = getattr(error, "details", None) or {}
    text = details.get("errmsg") if isinstance(details, dict) else None
    return str(text or error).splitlines()[0][:400].rstrip(".")
