"""The series of a Prometheus endpoint that begin as `match` says, as they stand: rates are made of them at home."""

import re
import urllib.request

METRICS = {"*": ("level", "1")}


def series(line):
    """One exposition line as (key, value); the value stands behind the labels, a timestamp may follow it."""
    end = line.rfind(b"}") + 1 or line.find(b" ")
    return line[:end].decode("utf-8", "replace"), float(line[end:].split()[0])


def kept(body, match):
    wanted = re.compile(match.encode()).match
    return dict(series(line) for line in body.split(b"\n") if wanted(line) and not line.startswith(b"#"))


def sample(url, match):
    with urllib.request.urlopen(url, timeout=5) as response:
        return kept(response.read(), match)
