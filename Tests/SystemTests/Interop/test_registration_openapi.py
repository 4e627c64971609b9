"""schemathesis holds the running Registration against Shared/Contracts/openapi/registration.yaml."""

import os
import pathlib
import subprocess
import sys

import pytest

from registration_process import PASSWORD, RegistrationProcess


@pytest.fixture
def registration(commands):
    process = RegistrationProcess(commands)
    process.start(TRUSTED_PROXY="true", SOURCE_HEADER="X-Source")
    yield process
    process.close()


@pytest.mark.parametrize("role", ["member", "admin"])
def test_registration_keeps_to_its_description(root, registration, role, tmp_path):
    registration.add_user("fuzz", role)
    here = pathlib.Path(__file__).parent
    schemathesis = pathlib.Path(sys.executable).with_name("schemathesis")
    run = subprocess.run(
        [
            str(schemathesis), "--config-file", str(here / "schemathesis.toml"),
            "run", str(root / "Shared/Contracts/openapi/registration.yaml"),
            "--url", registration.url, "--seed", "20261130", "--max-examples", "20",
            "--no-shrink", "--generation-database", ":memory:",
            "--phases", "examples,coverage,fuzzing", "--request-timeout", "10", "--no-color",
        ],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(here),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SCHEMATHESIS_HOOKS": "schemathesis_sessions",
            "PUSHBUS_TEST_URL": registration.url,
            "PUSHBUS_TEST_USER": "fuzz",
            "PUSHBUS_TEST_PASSWORD": PASSWORD,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
