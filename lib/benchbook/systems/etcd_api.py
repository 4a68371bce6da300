"""What is asked of a member of etcd, through its JSON gateway to gRPC.

The gateway's paths and fields are those of etcd 3.5 (etcd.io/docs/v3.5/dev-guide/api_grpc_gateway); whole numbers come
as text, keys and values in base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchbook.errors import SystemFailed
from benchbook.hosts.about import Json
from benchbook.hosts.http import UNANSWERED, Door

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint
    from benchbook.hosts.remote_host import RemoteHost

# A member that has lost its leader answers once there is a new one.
ANSWERS_S = 30.0


def post(via: RemoteHost, end: Endpoint, path: str, said: Json) -> Json:
    """What the member at `end` answers on a path of its gateway. Raises SystemFailed."""
    door = Door(via, end.address, end.port)
    answered: Json = door.get(f"/v3{path}", method="POST", timeout=ANSWERS_S, body=json.dumps(dict(said))).json()
    return answered


def put(via: RemoteHost, end: Endpoint, key: bytes, value: bytes) -> None:
    post(via, end, "/kv/put", {"key": _coded(key), "value": _coded(value)})


def revision(via: RemoteHost, end: Endpoint) -> int:
    """The revision of the store at a quorum: it grows by one with every put. (A linearizable read asks a quorum.)"""
    return int(post(via, end, "/kv/range", {"key": _coded(b"\0"), "count_only": True})["header"]["revision"])


def contents(via: RemoteHost, end: Endpoint, at: int) -> int:
    """A hash of all that this member itself has stored up to a revision."""
    return int(post(via, end, "/maintenance/hash", {"revision": at})["hash"])


def agreed(via: RemoteHost, ends: Sequence[Endpoint]) -> tuple[int, int]:
    """The revision at a quorum, and how many of these members were asked: all hold the same up to there.

    Raises SystemFailed where two differ.
    """
    # Asked of each: a member that answers a linearizable read has applied all that a quorum had by then.
    at = min([revision(via, end) for end in ends])
    held = {str(end): contents(via, end, at) for end in ends}
    if len(set(held.values())) != 1:
        raise SystemFailed(f"etcd's members differ at revision {at:,}: {held}")
    return at, len(held)


def status(via: RemoteHost, end: Endpoint) -> Json:
    """`version`, `leader` (the id of a member, "0" or missing without one), `header.member_id`, `dbSize`."""
    return post(via, end, "/maintenance/status", {})


def unhealthy(via: RemoteHost, end: Endpoint) -> str | None:
    """None when the member serves, which takes a leader; else what it says."""
    try:
        answer = Door(via, end.address, end.port).ask("/health", timeout=5)
    except UNANSWERED as problem:
        return f"etcd does not answer: {problem!r}"
    return None if answer.status == 200 else f"etcd answers {answer.status}: {answer.body.strip()[:200]}"


def one_leader(states: list[Json]) -> str:
    """The id of the leader that all of these members name. Raises SystemFailed where they do not agree."""
    named = {str(state.get("leader", "0")) for state in states}
    if len(named) != 1 or named == {"0"}:
        raise SystemFailed(f"etcd's members name {len(named - {'0'})} leaders")
    return named.pop()


def _coded(text: bytes) -> str:
    return base64.b64encode(text).decode()
