"""schemathesis holds the running Relay against Shared/Contracts/openapi/relay.yaml."""

import os
import pathlib
import subprocess
import sys

import pytest

from simulated_apns import SimulatedAPNs


@pytest.fixture
def relay(commands):
    apns = SimulatedAPNs(commands)
    # The limits have tests of their own; here they would only hide other answers.
    limits = {f"LIMIT_{name}": "1000000" for name in ("SOURCE", "TARGET", "INSTANCE")}
    yield apns.start_relay(**limits)
    apns.close()


def test_the_relay_keeps_to_its_description(root, relay, tmp_path):
    schemathesis = pathlib.Path(sys.executable).with_name("schemathesis")
    run = subprocess.run(
        [
            str(schemathesis), "run", str(root / "Shared/Contracts/openapi/relay.yaml"),
            "--url", relay, "--seed", "20261130", "--max-examples", "100", "--no-shrink",
            "--generation-database", ":memory:", "--phases", "examples,coverage,fuzzing",
            "--request-timeout", "10", "--no-color",
            # No schema can say that expires_at is at most 1800 s ahead of now.
            "--exclude-checks", "positive_data_acceptance",
        ],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=55,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
