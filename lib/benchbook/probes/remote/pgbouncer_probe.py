"""What PgBouncer says of its pools (`SHOW POOLS`, `SHOW STATS`), of all of them together."""

import functools
import glob
import os
import subprocess
import tempfile

METRICS = {
    "cl_active": ("level", "clients"),
    "cl_waiting": ("level", "clients"),
    "sv_active": ("level", "connections"),
    "sv_idle": ("level", "connections"),
    "sv_login": ("level", "connections"),
    "total_xact_count": ("counter", "1/s"),
    "total_query_count": ("counter", "1/s"),
    "total_received": ("counter", "B/s"),
    "total_sent": ("counter", "B/s"),
    "total_wait_time": ("counter", "us/s"),  # microseconds that all clients together have waited for a server
}
END = "that is all"


def program():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))
    return found[-1] if found else "psql"


@functools.lru_cache(maxsize=1)
def session(address, port, user, password):
    """A psql that stays, from sample to sample: a server that is asked once a second should not log in as often."""
    with tempfile.NamedTemporaryFile("w", delete=False) as secret:
        secret.write("*:*:*:*:%s\n" % password.replace("\\", "\\\\").replace(":", "\\:"))
    where = ["-h", address, "-p", str(port), "-U", user, "-d", "pgbouncer"]
    try:
        link = subprocess.Popen(
            [program(), "-X", "-q", "-A", *where],
            env={**os.environ, "PGPASSFILE": secret.name, "PGCONNECT_TIMEOUT": "2", "PGAPPNAME": "benchbook"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        )
        asked(link, ["SHOW VERSION"])
    finally:
        os.unlink(secret.name)
    return link


def asked(link, statements):
    """The lines that these statements give. Raises OSError where the session has ended."""
    link.stdin.write("".join("%s;\n" % statement for statement in statements) + "\\echo %s\n" % END)
    link.stdin.flush()
    lines = [line.strip() for line in iter(link.stdout.readline, END + "\n") if line or ended()]
    return lines


def ended():
    """Called at the end of what psql prints: it is not there any more."""
    raise OSError("psql has ended: the server does not answer, or refuses the login")


def sample(address, port, user, password):
    """Each answer is a table: a line of headings, a line per pool or database, and a line that counts them."""
    try:
        lines = asked(session(address, port, user, password), ["SHOW POOLS", "SHOW STATS"])
    except OSError:
        session.cache_clear()
        raise
    values, names = dict.fromkeys(METRICS, 0.0), []
    for words in (line.split("|") for line in lines):
        if words[0] == "database":
            names = words
        elif len(words) == len(names) and words[0] != "pgbouncer":
            for i, name in enumerate(names):
                if name in METRICS:
                    values[name] += float(words[i])
    return values
