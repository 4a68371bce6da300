"""A folder that a lab's host is to work in: root hands over nothing that somebody else could put in its place."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

import pytest
from kit import Home

from benchbook.errors import BadInput, HostUnusable
from benchbook.hosts import lab
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.lab_host import ACCOUNT, LabHost
from benchbook.hosts.lab_workdir import check_paths, is_only_roots

has_account = any(each.pw_name == ACCOUNT for each in pwd.getpwall())
as_root = pytest.mark.skipif(os.geteuid() != 0 or not has_account, reason="root gives folders to the account")
NOBODY = 65534


def named(workdir: Path) -> Inventory:
    host = {"address": "127.0.0.1", "roles": ["client"], "workdir": str(workdir)}
    return Inventory.model_validate({"name": "a", "lab": True, "hosts": {"db1": host}})


def login() -> pwd.struct_passwd:
    return pwd.getpwuid(os.geteuid())


@pytest.mark.parametrize(("mode", "refused"), [(0o755, False), (0o1777, False), (0o777, True), (0o1775, False)])
def test_a_parent_that_others_may_write_to_is_refused_by_its_key(mode: int, refused: bool, tmp_path: Path) -> None:
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(mode)
    for work in (above / "work", above / "not" / "there" / "yet"):
        if not refused:
            check_paths(named(work), login())
            continue
        with pytest.raises(BadInput, match=rf"hosts\.db1\.workdir: .*others may write to {above}.*Fix: name one"):
            check_paths(named(work), login())


def test_a_sticky_folder_is_no_folder_to_work_in_by_whatever_link(tmp_path: Path) -> None:
    """Anybody may put a `.benchbook` into /tmp: all below it would have been handed over."""
    shared, link = tmp_path / "shared", tmp_path / "link"
    shared.mkdir()
    shared.chmod(0o1777)
    link.symlink_to(shared)
    for work in (shared, link):
        with pytest.raises(BadInput, match=f"others may write to {shared}"):
            check_paths(named(work), login())
        assert not is_only_roots(work, is_parent=False)


def test_links_in_a_circle_are_left_to_the_preflight(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    check_paths(named(tmp_path / "a" / "work"), login())
    assert not is_only_roots(tmp_path / "a" / "work", is_parent=False)


@as_root
def test_a_parent_or_a_link_of_somebody_else_is_refused(tmp_path: Path) -> None:
    theirs, link = tmp_path / "theirs", tmp_path / "link"
    (theirs / "work").mkdir(parents=True)
    os.chown(theirs, NOBODY, NOBODY)
    link.symlink_to("/srv")
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    for work, whose in ((theirs / "work", theirs), (link / "work", link)):
        with pytest.raises(BadInput, match=f"{whose} belongs to user {NOBODY}"):
            check_paths(named(work), login())
    os.chown(link, 0, 0, follow_symlinks=False)
    check_paths(named(link / "work"), login())


@pytest.fixture
def host(tmp_path: Path) -> LabHost:
    return LabHost("db1", "127.0.0.1", 2222, tmp_path / ".lab" / "a" / "db1")


def given(host: LabHost, work: Path) -> None:
    lab._give(host.folder.parents[1], host, work, named=True)


@as_root
def test_what_is_roots_alone_is_made_and_given(host: LabHost, tmp_path: Path) -> None:
    work = tmp_path / "srv" / "bench" / "db1"
    given(host, work)
    assert [work.owner(), work.parent.owner(), work.stat().st_mode & 0o777] == [ACCOUNT, "root", 0o700]
    # As one that root's lab used before there was an account.
    os.chown(work, 0, 0)
    (work / ".benchbook").touch()
    (work / "jobs").mkdir()
    given(host, work)
    assert {path.owner() for path in (work, work / ".benchbook", work / "jobs")} == {ACCOUNT}


@as_root
def test_another_user_who_swaps_folders_for_links_gets_nothing(host: LabHost, tmp_path: Path) -> None:
    """What they reach for: a folder of root's with the marker in it, by the name that the host's folder has."""
    secret, theirs = tmp_path / "secret", tmp_path / "theirs"
    (secret / "work").mkdir(parents=True)
    (secret / "work" / ".benchbook").touch()
    theirs.mkdir()
    # Whole, swapped for a link, its child a link; and a link in a sticky folder.
    os.chown(theirs, NOBODY, NOBODY)
    given(host, theirs / "work")
    assert not (theirs / "work").exists(), "root makes nothing there either"
    (theirs / "work").symlink_to(secret / "work")
    given(host, theirs / "work")
    shutil.rmtree(theirs)
    theirs.symlink_to(secret)
    os.chown(theirs, NOBODY, NOBODY, follow_symlinks=False)
    given(host, theirs / "work")
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    (sticky / "bench").symlink_to(secret)
    os.chown(sticky / "bench", NOBODY, NOBODY, follow_symlinks=False)
    given(host, sticky / "bench" / "work")
    given(host, sticky / "bench" / "new")
    assert [(secret / "work").owner(), (secret / "work" / ".benchbook").owner()] == ["root", "root"]
    assert sorted(path.name for path in secret.iterdir()) == ["work"]


def test_a_folder_of_somebody_else_is_refused_before_a_host_runs(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "_start", lambda *_: pytest.fail("a host was started"))
    theirs = tmp_path / "theirs"
    (theirs / "jobs").mkdir(parents=True)
    with pytest.raises(HostUnusable, match=r"hosts\.db1\.workdir: this folder holds files that are not the kit's"):
        lab.up(named(theirs))
    assert [path.name for path in theirs.iterdir()] == ["jobs"]
