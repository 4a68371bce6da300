"""Print why no server on this host can bind to what a name or an address stands for; nothing where one can."""

import socket
import sys


def why_not(address):
    try:
        found = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)
    except OSError as problem:
        return problem.strerror
    for family, kind, protocol, _, where in found:
        try:
            with socket.socket(family, kind, protocol) as server:
                server.bind(where)
            return ""
        except OSError as problem:
            said = problem.strerror
    return said


if __name__ == "__main__":
    print(why_not(sys.argv[1]))
