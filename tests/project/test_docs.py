"""The documentation builds, its reference is the code's, and the tutorial shows what is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from kit import ROOT

from benchbook.analysis.schema import SCHEMAS
from benchbook.documents.audit import audit_document
from benchbook.documents.tables import reading

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    words = [sys.executable, "-m", "sphinx", "-q", str(DOCS), str(out)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not ran.returncode, ran.stderr
    return out


@pytest.mark.slow
def test_every_page_is_there_and_the_reference_names_what_the_code_has(built: Path) -> None:
    pages = {path.stem for path in DOCS.glob("*.md")}
    assert pages <= {path.stem for path in built.glob("*.html")}
    text = {path.stem: re.sub("<[^>]+>", "", path.read_text()) for path in (built / "reference").glob("*.html")}
    said = {
        "inventory": ["known_hosts", "ansible", "password_env", "whole number ≥ 1 ≤ 65,535"],
        "profile": ["repetitions_unjudged", "buffer_pool_mb"],
        "report-yaml": ["restaged_by", "unchecked", "needed"],
        "claims-yaml": ["saturates_at", "at_least", "Kendall"],
        "parameters": ["again", "workloads", "pool_sizes"],
        "command-line": ["benchbook lab up", "--inventory", "Create a project folder"],
        "plots": ["repetitions(", "panel"],
        "system": ["identity(self)", "has to say this"],
        "load-generator": ["outcome(self", "has to say this"],
        "frames": [column.name for schema in SCHEMAS for column in schema.columns if "<" not in column.name],
    }
    for page, words in said.items():
        assert [word for word in words if word not in text[page]] == [], page


@pytest.mark.slow
def test_pages_load_nothing_from_a_network(built: Path) -> None:
    for page in built.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link)[^>]*?(?:src|href)=\"(https?:[^\"]+)\"", page.read_text())
        assert loaded == [], page


def test_the_tutorial_shows_what_the_audit_of_its_document_prints() -> None:
    audit = audit_document(reading(str(ROOT / "data" / "sample" / "example-report.md")))
    tutorial = (DOCS / "tutorial.md").read_text()
    said = [words for each in audit.findings for words in (each.sentence, *each.arithmetic)]
    assert len(audit.findings) == 3
    assert [words for words in said if words not in tutorial] == []


@pytest.mark.parametrize("guide", ["CONTRIBUTING.md", "docs/architecture.md", "docs/extending.md"])
def test_files_of_the_code_that_a_guide_names_are_there(guide: str) -> None:
    """A path in code style that begins with a folder of lib/benchbook; NAME stands for any name."""
    code = ROOT / "lib" / "benchbook"
    folders = "|".join(folder.name for folder in code.iterdir() if folder.is_dir())
    named = re.findall(rf"`(?:benchbook/)?((?:{folders})/[\w./]*)`", (ROOT / guide).read_text())
    assert named
    assert [path for path in named if not list(code.glob(path.replace("NAME", "*")))] == []
