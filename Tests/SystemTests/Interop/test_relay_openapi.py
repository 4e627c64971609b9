"""schemathesis holds the running Relay against Shared/Contracts/openapi/relay.yaml."""

import base64
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

import pytest

from simulated_apns import SimulatedAPNs


@pytest.fixture
def relay(commands):
    apns = SimulatedAPNs(commands)
    # The limits have tests of their own; here they would only hide other answers.
    limits = {f"LIMIT_{name}": "1000000" for name in ("SOURCE", "TARGET", "INSTANCE")}
    yield apns, apns.start_relay(**limits)
    apns.close()


def test_a_valid_request_is_accepted(relay):
    apns, url = relay
    token = "0a" * 32
    apns.control("PUT", f"/tokens/{token}")
    message = {
        "device_token": token,
        "environment": "sandbox",
        "event_id": "11111111-1111-4111-8111-111111111111",
        "expires_at": int(time.time()) + 900,
        "envelope": {
            "version": 1,
            "key_id": "22222222-2222-4222-8222-222222222222",
            "identity": "a" * 64,
            "nonce": base64.b64encode(bytes(12)).decode(),
            "ciphertext": base64.b64encode(bytes(100)).decode(),
        },
    }
    request = urllib.request.Request(
        f"{url}/v1/send",
        data=json.dumps(message).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as reply:
        assert reply.status == 200
        assert reply.headers["PushBus-Reason"] == "Accepted"
        assert reply.headers["PushBus-Exposure"] == "answered"
        assert json.loads(reply.read()) == {
            "outcome": "accepted", "reason": "Accepted", "device_invalid": False,
        }


def test_the_relay_keeps_to_its_description(root, relay, tmp_path):
    _, url = relay
    schemathesis = pathlib.Path(sys.executable).with_name("schemathesis")
    run = subprocess.run(
        [
            str(schemathesis), "run", str(root / "Shared/Contracts/openapi/relay.yaml"),
            "--url", url, "--seed", "20261130", "--max-examples", "100", "--no-shrink",
            "--generation-database", ":memory:", "--phases", "examples,coverage,fuzzing",
            "--request-timeout", "10", "--no-color",
            # No schema can say that expires_at is at most 1800 s ahead of now; the test above has a
            # request that is valid.
            "--exclude-checks", "positive_data_acceptance",
        ],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=55,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
