"""The cost measurement gives both sides and equal results; no time is asserted."""

import ast
from pathlib import Path

import benchbook.stats
from benchbook.stats.cost import measure_bootstrap_cost


def test_both_sides_agree():
    found = measure_bootstrap_cost(samples=20_000, resamples=499, bca_samples=1000)
    for method in ("percentile", "bca"):
        assert found[method]["difference_in_standard_errors"] < 0.6
        assert found[method]["ours_s"] > 0
        assert found[method]["scipy_s"] > 0


def test_statistics_know_nothing_else_of_benchbook():
    for path in Path(benchbook.stats.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchbook"):
                assert node.module.startswith("benchbook.stats") or node.module == "benchbook.errors", path
