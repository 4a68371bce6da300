"""TCP of the whole machine: connections now, and how many are reset."""

METRICS = {"tcp.*": ("level", "sockets"), "resets": ("counter", "1/s")}


def sample():
    with open("/proc/net/sockstat") as source:
        words = next(line for line in source if line.startswith("TCP:")).split()
    with open("/proc/net/snmp") as source:
        names, values = [line.split() for line in source if line.startswith("Tcp:")]
    return {"tcp.inuse": int(words[words.index("inuse") + 1]), "resets": int(values[names.index("EstabResets")])}
