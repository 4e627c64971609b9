"""The fuzz targets replay their inputs: whatever a fuzzer ever found is read without a fault."""

import subprocess

import pytest


@pytest.mark.parametrize(
    ("target", "folder", "least"),
    [
        ("fuzz-bus-bodies", "Tests/ContractsTests/Golden", 30),
        ("fuzz-bus-bodies", "Tests/Fuzz/Corpus/bus-bodies", 10),
        ("fuzz-events", "Tests/ContractsTests/Golden", 30),
        ("fuzz-events", "Tests/Fuzz/Corpus/events", 10),
    ],
)
def test_replay(root, commands, target, folder, least):
    run = subprocess.run(
        [commands / target, root / folder], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.split()[0]) >= least
    if target == "fuzz-bus-bodies":
        # Every message of the bus is among those it reads; header.json is the schema of none.
        schemas = len(list((root / "Shared/Contracts/Schemas").glob("*.json")))
        assert int(run.stdout.split()[-2]) == schemas - 1
