"""A file of known hosts as paramiko can read it: it knows no markers (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT)."""

from __future__ import annotations

from pathlib import Path

from benchbook.given import user_file

# A known_hosts of many years is the largest file that SSH needs.
MOST_BYTES = 20_000_000
_AUTHORITY, _REVOKED = "@cert-authority", "@revoked"


def plain(file: Path) -> str:
    """Its lines without markers. No host is known by a key that is revoked, whatever line names it.

    Raises BadInput for what is no file of text.
    """
    lines = [(line, line.split()) for line in user_file.text(file, most=MOST_BYTES).splitlines()]
    # A marker, names, the kind of the key, the key; without a marker the names come first.
    revoked = {words[3] for _, words in lines if words[:1] == [_REVOKED] and len(words) > 3}
    kept = [line for line, words in lines if not line.lstrip().startswith("@") and revoked.isdisjoint(words[2:3])]
    return "".join(f"{line}\n" for line in kept)


def has_authorities(file: Path) -> bool:
    """Does it name who may vouch for hosts by certificates, which paramiko does not ask for?"""
    try:
        return any(line.split()[:1] == [_AUTHORITY] for line in file.read_text(encoding="utf-8").splitlines())
    except FileNotFoundError:
        return False
