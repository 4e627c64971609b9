"""schemathesis holds the running EventIngest against Shared/Contracts/openapi/events.yaml."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

from pushbus_peer import Service

HOOKS = pathlib.Path(__file__).with_name("events_hooks.py")


@pytest.fixture
def door(commands):
    """An EventIngest alone, the URL of its door and the key of an integrator that may publish all."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pushbus-door-"))
    folder.chmod(0o700)
    socket = lambda name: f"ipc://{folder}/{name}.sock"  # noqa: E731
    service = Service(
        commands,
        "eventingest",
        {
            "BIND": socket("eventingest"), "REGISTRATION": socket("registration"),
            "FANOUT": socket("fanout"), "STORE": f"sqlite:{folder}/eventingest.db",
            "HTTP": "127.0.0.1:0", "OPEN_EVENTS": "1000000",
        },
        folder,
    )
    ready = service.wait_ready()

    def pushbus(*words: str) -> str:
        return subprocess.run(
            [str(commands / "pushbus"), *words, "--endpoint", socket("eventingest")],
            capture_output=True, text=True, timeout=30, check=True,
        ).stdout

    pushbus("integrator", "add", "fuzzer", "--sources", "*", "--types", "*")
    key = pushbus("integrator", "key", "fuzzer").split()[-1]
    yield f"http://127.0.0.1:{ready['http']}", key
    code = service.stop()
    shutil.rmtree(folder, ignore_errors=True)
    assert code == 0


# A batch that is too long is answered 413, which schemathesis does not count as a rejection.
CONFIGURATION = """\
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "413", "415"]
"""


def test_eventingest_keeps_to_its_description(root, door, tmp_path):
    url, key = door
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    schemathesis = pathlib.Path(sys.executable).with_name("schemathesis")
    run = subprocess.run(
        [
            str(schemathesis), "run", str(root / "Shared/Contracts/openapi/events.yaml"),
            "--url", url, "--header", f"Authorization: Bearer {key}", "--seed", "20261130",
            "--max-examples", "20", "--no-shrink", "--generation-database", ":memory:",
            "--phases", "examples,coverage,fuzzing", "--request-timeout", "10", "--no-color",
        ],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"], "HOME": str(tmp_path), "SCHEMATHESIS_HOOKS": HOOKS.stem,
            "PYTHONPATH": str(HOOKS.parent), "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
