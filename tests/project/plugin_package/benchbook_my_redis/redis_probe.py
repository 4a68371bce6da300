"""What INFO says of a Redis server."""

import socket

METRICS = {
    "total_commands_processed": ("counter", "1/s"),
    "total_net_input_bytes": ("counter", "B/s"),
    "total_net_output_bytes": ("counter", "B/s"),
    "used_cpu_user": ("counter", "cores"),
    "used_cpu_sys": ("counter", "cores"),
    "used_memory": ("level", "B"),
    "connected_clients": ("level", "clients"),
}


def sample(address, port):
    """INFO's lines are `name:value`; the answer's length stands before them, as `$4711`."""
    with socket.create_connection((address, port), timeout=5) as link, link.makefile("rwb") as stream:
        stream.write(b"INFO\r\n")
        stream.flush()
        length = int(stream.readline()[1:])
        lines = stream.read(length).decode().splitlines()
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    return {name: float(value) for name, value in pairs if name in METRICS}
