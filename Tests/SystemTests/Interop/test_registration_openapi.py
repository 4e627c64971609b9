"""schemathesis holds the running Registration against Shared/Contracts/openapi/registration.yaml."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from pushbus_peer import Service
from registration_process import RegistrationProcess


@pytest.fixture
def registration(commands):
    """A Registration with a Delivery that knows no row, so that it can say what became of a test."""
    process = RegistrationProcess(commands)
    process.start(TRUSTED_PROXY="true", SOURCE_HEADER="X-Source")
    delivery = Service(
        commands,
        "delivery",
        {
            "BIND": process.endpoint("delivery"),
            "REGISTRATION": process.endpoint("registration"),
            "RELAY": process.endpoint("relay"),
            "STORE": f"sqlite:{process.folder}/delivery.sqlite",
        },
        process.folder,
    )
    delivery.wait_ready()
    yield process
    code = delivery.stop()
    process.close()
    assert code == 0


def operations(description: pathlib.Path) -> dict[str, str]:
    """The path of each operation by its name."""
    found = re.findall(r"^  (/\S+):$|^      operationId: (\w+)$", description.read_text(), re.M)
    paths, path = {}, ""
    for new_path, operation in found:
        path = new_path or path
        if operation:
            paths[operation] = path
    return paths


@pytest.mark.parametrize("role", ["member", "admin"])
def test_registration_keeps_to_its_description(root, registration, role, tmp_path):
    here = pathlib.Path(__file__).parent
    description = root / "Shared/Contracts/openapi/registration.yaml"
    seen = tmp_path / "seen"
    run = subprocess.run(
        [
            str(pathlib.Path(sys.executable).with_name("schemathesis")),
            "--config-file", str(here / "schemathesis.toml"),
            "run", str(description), "--url", registration.url,
            "--checks", "all", "--generation-with-security-parameters", "false",
            "--phases", "examples,coverage,fuzzing,stateful",
            "--seed", "20261130", "--max-examples", "15", "--no-shrink",
            "--generation-database", ":memory:", "--request-timeout", "10", "--no-color",
        ],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(here),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SCHEMATHESIS_HOOKS": "schemathesis_sessions",
            "PUSHBUS_TEST_URL": registration.url,
            "PUSHBUS_TEST_BUS": registration.endpoint("registration"),
            "PUSHBUS_TEST_ROLE": role,
            "PUSHBUS_TEST_SEEN": str(seen),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-4000:]

    # Each operation was also carried out, but for what this role may not do and what is gone.
    answers = {tuple(line.split()) for line in seen.read_text().splitlines()}
    for operation, path in operations(description).items():
        is_forbidden = role == "member" and path.startswith("/api/mobile/admin/")
        wanted = "403" if is_forbidden else "410" if path.endswith("/push/register") else "200"
        assert (operation, wanted) in answers, f"{operation} was never answered {wanted}"
