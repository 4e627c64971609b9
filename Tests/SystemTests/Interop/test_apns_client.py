"""Public clients drive the simulator unmodified: aioapns, which sends to Apple's service, and curl."""

import asyncio
import json
import socket
import ssl
import subprocess
import uuid

import h2.config
import h2.connection
import h2.events
import h2.settings
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


def client(apns, key=None):
    """aioapns as it is, with the simulator's key or another one that it made."""
    own = {
        "private_key": apns.file("apns-key.p8").read_text(),
        "key_id": apns.credentials["key_id"],
        "team_id": apns.credentials["team_id"],
    }
    key = key or own
    return APNs(
        key=key["private_key"],
        key_id=key["key_id"],
        team_id=key["team_id"],
        topic="app.example",
        use_sandbox=True,
        max_connections=2,
        ssl_context=ssl.create_default_context(cafile=str(apns.file("ca.pem"))),
    )


def push(device: str, text: str = "text") -> NotificationRequest:
    return NotificationRequest(device_token=device, message={"aps": {"alert": text}})


def curl(apns, *options: str) -> subprocess.CompletedProcess:
    """One request by curl; without a provider token, which is refused politely."""
    return subprocess.run(
        ["curl", "--silent", "--http2", "--max-time", "20", "--cacert", str(apns.file("ca.pem"))]
        + list(options)
        + ["--data", "{}", f"https://localhost:{apns.ports['sandbox']}/3/device/00ff"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_aioapns_sends_and_understands_refusals(apns):
    async def run():
        sender = client(apns)
        issued = apns.control("POST", "/tokens", {"topic": "app.example"})
        token = issued["token"]

        async def send(device: str, text: str):
            notification_id = str(uuid.uuid4())
            result = await sender.send_notification(
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


def test_limits_keys_and_scripts_reach_aioapns(apns):
    async def run():
        apns.control("PATCH", "/settings", {"requests_per_token": 2, "token_window_ms": 60000})
        sender = client(apns)
        answers = [await sender.send_notification(push("00ff")) for _ in range(3)]
        assert [answer.status for answer in answers] == ["200", "200", "429"]
        assert answers[2].description == "TooManyRequests"
        apns.control("POST", "/clock", {"advance_ms": 60000})
        assert (await sender.send_notification(push("00ff"))).status == "200"

        other = apns.control("POST", "/keys", {"team_id": "OTHERTEAM1", "topics": ["app.example"]})
        assert (await client(apns, other).send_notification(push("11ff"))).status == "200"
        foreign = apns.control("POST", "/keys", {"topics": ["app.other"]})
        refused = await client(apns, foreign).send_notification(push("22ff"))
        assert (refused.status, refused.description) == ("400", "TopicDisallowed")
        production = apns.control("POST", "/keys", {"environments": ["production"]})
        refused = await client(apns, production).send_notification(push("33ff"))
        assert (refused.status, refused.description) == ("403", "BadEnvironmentKeyIdInToken")

        mix = [{"reason": "ServiceUnavailable", "per_million": 1_000_000}]
        apns.control("PUT", "/script", {"mix": mix})
        refused = await sender.send_notification(push("44ff"))
        assert (refused.status, refused.description) == ("503", "ServiceUnavailable")

    asyncio.run(asyncio.wait_for(run(), timeout=40))


def test_curl_refuses_bad_certificates_and_old_versions(apns):
    good = curl(apns)
    assert (good.returncode, good.stdout) == (0, '{"reason":"MissingProviderToken"}')
    for kind in ("expired", "not_yet_valid", "wrong_name", "unknown_authority", "self_signed"):
        apns.control("PATCH", "/settings", {"certificate": kind})
        # 60: the peer's certificate cannot be trusted.
        assert curl(apns).returncode == 60, kind
    apns.control("PATCH", "/settings", {"certificate": "trusted", "maximum_tls": "1.2"})
    assert curl(apns).returncode == 0
    # 35: the handshake failed.
    assert curl(apns, "--tlsv1.3").returncode == 35
    apns.control("PATCH", "/settings", {"maximum_tls": "1.1"})
    assert curl(apns).returncode == 35


def test_settings_are_those_that_senders_saw(apns):
    context = ssl.create_default_context(cafile=str(apns.file("ca.pem")))
    context.set_alpn_protocols(["h2"])
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    with socket.create_connection(("127.0.0.1", apns.ports["sandbox"]), timeout=20) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as peer:
            peer.sendall(connection.data_to_send())
            settings = None
            while settings is None:
                data = peer.recv(65_536)
                assert data, "the simulator closed the connection"
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.RemoteSettingsChanged):
                        settings = {
                            int(code): change.new_value
                            for code, change in event.changed_settings.items()
                        }
    codes = h2.settings.SettingCodes
    assert settings == {
        codes.HEADER_TABLE_SIZE: 4_096,
        codes.MAX_CONCURRENT_STREAMS: 1,
        codes.INITIAL_WINDOW_SIZE: 65_535,
        codes.MAX_FRAME_SIZE: 16_384,
        codes.MAX_HEADER_LIST_SIZE: 8_000,
    }
