"""What PgBouncer says of its pools (`SHOW POOLS`, `SHOW STATS`), of all of them together."""

import psql_session

NEEDS = ["psql_session"]
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


def sample(address, port, user, password):
    """Each answer is a table: a line of headings, a line per pool or database, and a line that counts them."""
    lines = psql_session.asked(["SHOW POOLS", "SHOW STATS"], address, port, user, password, "pgbouncer")
    values, names = dict.fromkeys(METRICS, 0.0), []
    for words in (line.split("|") for line in lines):
        if words[0] == "database":
            names = words
        elif len(words) == len(names) and words[0] != "pgbouncer":
            for i, name in enumerate(names):
                if name in METRICS:
                    values[name] += float(words[i])
    return values
