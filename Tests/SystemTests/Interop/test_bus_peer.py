"""Anything that speaks JSON over ZeroMQ can publish events and stand in for the Relay."""

import json

from pushbus_peer import Client, Phone, RelayStub, request_frames


def alert(event_id: str, kind: str = "triggered", **data) -> dict:
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": "/python/monitor",
        "type": f"org.pushbus.alert.{kind}.v1",
        "data": {
            "rule_id": "cpu",
            "rule_name": "CPU über 90 % 🔥",
            "server_id": "web-1",
            "server_name": "web/1 \"eu\"",
            "source_address": "",
            "started_at": "2026-01-01T00:00:00Z",
            **data,
        },
    }


def test_publish_and_relay_in_python(house):
    server = house.start_all()
    registration = Client(house.context, house.endpoint("registration"))
    ingest = Client(house.context, house.endpoint("eventingest"))
    delivery = Client(house.context, house.endpoint("delivery"))
    relay = RelayStub(house.context, house.endpoint("relay"))
    try:
        kind, answer = registration.ask(
            "registration.admin.user.add.v1",
            {"username": "alice", "password": "correct horse battery", "role": "admin"},
        )
        assert (kind, answer["added"]) == ("registration.admin.user.add.answer.v1", True)
        kind, pairing = registration.ask("registration.admin.pair.v1", {"username": "alice"})
        assert kind == "registration.admin.pair.answer.v1", pairing
        phone = Phone(server, "python-phone-1")
        phone.pair(pairing["code"])
        phone.subscribe(alerts=True)

        # One event, then the same again, then other content under the same id, then rubbish.
        kind, answer = ingest.ask("event.publish.v1", alert("e1"))
        assert kind == "event.publish.answer.v1"
        assert [r["status"] for r in answer["results"]] == ["accepted"]
        _, answer = ingest.ask(
            "event.publish.v1",
            [alert("e1"), alert("e1", rule_name="other"), {"specversion": "1.0", "id": "x"}],
        )
        assert [r["status"] for r in answer["results"]] == ["duplicate", "conflict", "invalid"]
        assert answer["results"][2]["pointer"].startswith("/")

        relay.serve_until(lambda r: len(r.received) == 1)
        assert relay.refused_packed >= 1, "Delivery offers MessagePack first and falls back"
        message = relay.received[0]
        assert message["device_token"] == phone.token
        assert message["environment"] == "sandbox"
        opened = phone.open(message["envelope"])
        assert opened["kind"] == "alert"
        assert opened["event_id"] == message["event_id"]
        assert opened["alert"]["rule_name"] == "CPU über 90 % 🔥"
        assert opened["alert"]["server_name"] == 'web/1 "eu"'
        assert opened["expires_at"] - opened["created_at"] == 1800

        # A bare frame without header is a publish too, and is answered by a bare frame. The relay is
        # busy once: the row waits and goes again with the same content.
        relay.verdicts = [{
            "outcome": "retryable", "reason": "RelayBusy", "scope": "relay", "exposure": "none",
            "retry_after_ms": 200,
        }]
        bare = request_frames("", alert("e2", kind="resolved"))[1]
        ingest.socket.send(bare)
        assert ingest.socket.poll(20_000), "no answer to the bare event"
        (frame,) = ingest.socket.recv_multipart()
        answer = json.loads(frame)
        assert [r["status"] for r in answer["results"]] == ["accepted"]
        relay.serve_until(lambda r: len(r.received) == 3)
        assert relay.received[1] == {**relay.received[2], "expires_at": relay.received[1]["expires_at"]}
        assert phone.open(relay.received[2]["envelope"])["alert"]["status"] == "resolved"

        receipts = wait_for_receipts(delivery, 2)
        assert {r["state"] for r in receipts} == {"accepted"}
        assert phone.token not in str(receipts)
    finally:
        for peer in (registration, ingest, delivery, relay):
            peer.close()


def wait_for_receipts(delivery: Client, count: int) -> list[dict]:
    for _ in range(200):
        _, answer = delivery.ask("receipt.query.v1", {"limit": 100, "state": "accepted"})
        if len(answer["receipts"]) == count:
            return answer["receipts"]
    raise AssertionError(f"{len(answer['receipts'])} receipts instead of {count}")


def test_delivery_killed_while_the_relay_is_away(house):
    server = house.start_all()
    registration = Client(house.context, house.endpoint("registration"))
    ingest = Client(house.context, house.endpoint("eventingest"))
    delivery = Client(house.context, house.endpoint("delivery"))
    try:
        registration.ask(
            "registration.admin.user.add.v1",
            {"username": "bob", "password": "correct horse battery", "role": "member"},
        )
        _, pairing = registration.ask("registration.admin.pair.v1", {"username": "bob"})
        phone = Phone(server, "python-phone-2")
        phone.pair(pairing["code"])
        phone.subscribe(alerts=True)
        _, answer = ingest.ask("event.publish.v1", [alert(f"k{n}", rule_id=f"r{n}") for n in range(20)])
        assert {r["status"] for r in answer["results"]} == {"accepted"}
        for _ in range(400):
            _, answer = delivery.ask("outbox.admin.status.v1", {})
            if sum(s["rows"] for s in answer["states"]) == 20:
                break
        house.services["delivery"].kill()
        house.start("delivery", **house.delivery_environment())
        relay = RelayStub(house.context, house.endpoint("relay"))
        relay.serve_until(lambda r: len({m["event_id"] for m in r.received}) == 20)
        delivery.close()
        delivery = Client(house.context, house.endpoint("delivery"))
        assert len(wait_for_receipts(delivery, 20)) == 20
        assert len(relay.received) == 20, "each message once: none had been handed over"
        relay.close()
    finally:
        for peer in (registration, ingest, delivery):
            peer.close()
