"""aioapns, a public client of Apple's service, drives the simulator unmodified."""

import asyncio
import json
import ssl
import uuid

import pytest
from aioapns import APNs, NotificationRequest
from aioapns.connection import APNsDevelopmentClientProtocol

from simulated_apns import SimulatedAPNs


@pytest.fixture
def apns(commands, monkeypatch):
    apns = SimulatedAPNs(commands)
    # Where Apple is. Nothing else of the client is touched.
    monkeypatch.setattr(APNsDevelopmentClientProtocol, "APNS_SERVER", "localhost")
    monkeypatch.setattr(APNsDevelopmentClientProtocol, "APNS_PORT", apns.ports["sandbox"])
    yield apns
    apns.close()


def test_aioapns_sends_and_understands_refusals(apns):
    async def run():
        client = APNs(
            key=apns.file("apns-key.p8").read_text(),
            key_id=apns.credentials["key_id"],
            team_id=apns.credentials["team_id"],
            topic="app.example",
            use_sandbox=True,
            max_connections=2,
            ssl_context=ssl.create_default_context(cafile=str(apns.file("ca.pem"))),
        )
        issued = apns.control("POST", "/tokens", {"topic": "app.example"})
        token = issued["token"]

        async def send(device: str, text: str):
            notification_id = str(uuid.uuid4())
            result = await client.send_notification(
                NotificationRequest(
                    device_token=device,
                    message={"aps": {"alert": text}},
                    notification_id=notification_id,
                )
            )
            assert result.notification_id == notification_id
            return result

        first = await send(token, "first")
        assert (first.status, first.is_successful) == ("200", True)
        results = await asyncio.gather(*(send(token, f"more {n}") for n in range(50)))
        assert all(result.is_successful for result in results)

        received = apns.control("GET", f"/tokens/{token}/received?after=0")
        texts = {json.loads(one["payload"])["aps"]["alert"] for one in received["received"]}
        assert texts == {"first", *(f"more {n}" for n in range(50))}

        apns.control("DELETE", f"/tokens/{token}")
        gone = await send(token, "too late")
        assert (gone.status, gone.description) == ("410", "Unregistered")
        assert gone.timestamp

    asyncio.run(asyncio.wait_for(run(), timeout=40))
