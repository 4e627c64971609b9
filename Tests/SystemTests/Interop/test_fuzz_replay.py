"""The fuzz target replays the golden messages as every type in both forms."""

import subprocess


def test_replay(root, commands):
    run = subprocess.run(
        [commands / "fuzz-bus-bodies", root / "Tests/ContractsTests/Golden"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.split()[0]) > 30
