"""What a driver logs in by."""

from __future__ import annotations

from pathlib import Path

import pytest
from sshd import new_key


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the key `client`, which the sshd of a test lets in."""
    folder = tmp_path_factory.mktemp("keys")
    new_key(folder / "client")
    return folder


@pytest.fixture
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
