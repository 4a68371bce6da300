"""A psql that stays, for probes that ask a server or a pooler of PostgreSQL once a second. It runs on the host."""

import functools
import glob
import os
import subprocess
import tempfile

END = "that is all"


def program():
    """Debian keeps a folder per major version, on nobody's PATH."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))
    return found[-1] if found else "psql"


@functools.lru_cache(maxsize=1)
def session(address, port, user, password, database, options):
    """Kept from sample to sample: a server that is asked once a second should not log in as often."""
    with tempfile.NamedTemporaryFile("w", delete=False) as secret:
        secret.write("*:*:*:*:%s\n" % password.replace("\\", "\\\\").replace(":", "\\:"))
    where = ["-h", address, "-p", str(port), "-U", user, "-d", database]
    try:
        link = subprocess.Popen(
            [program(), "-X", "-q", "-A", *options, *where],
            env={**os.environ, "PGPASSFILE": secret.name, "PGCONNECT_TIMEOUT": "2", "PGAPPNAME": "benchbook"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        )
        # It has read the password once it has answered, if only that there is nothing to answer.
        asked_of(link, [])
    finally:
        os.unlink(secret.name)
    return link


def asked(statements, address, port, user, password, database, options=()):
    """The lines that these statements give. Raises OSError where the session has ended; the next one is a new one."""
    try:
        return asked_of(session(address, port, user, password, database, options), statements)
    except OSError:
        session.cache_clear()
        raise


def asked_of(link, statements):
    link.stdin.write("".join("%s;\n" % statement for statement in statements) + "\\echo %s\n" % END)
    link.stdin.flush()
    return [line.strip() for line in iter(link.stdout.readline, END + "\n") if line or ended()]


def ended():
    """Called at the end of what psql prints: it is not there any more."""
    raise OSError("psql has ended: the server does not answer, or refuses the login")
