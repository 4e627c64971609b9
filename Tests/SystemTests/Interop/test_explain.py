"""`pushbus explain` over real services, for an event at each stage and for one phone."""

import json

import pytest

from pushbus_house import alert, attempt, detection, run_start, wait_until


def test_each_stage_and_reason(house):
    house.start_all()
    phone = house.phone("alice", alerts=True)
    house.pushbus("rule", "security", "ssh", "--type", "ssh_brute_force_detected", "--threshold", "10")
    house.pushbus("rule", "add", "off", "--disabled")
    house.pushbus(
        "maintenance", "add", "night", "--from", "2026-01-01T00:00:00Z",
        "--until", "2099-01-01T00:00:00Z", "--include", "db-1",
    )

    def published(event: dict) -> str:
        (result,) = house.publish(event)
        assert result["status"] == "accepted", result
        return result["event_id"]

    # The relay is away: the row waits for it, and the event is fanned out and erased.
    waiting = published(alert("cpu", id="cpu-1"))
    house.wait_for(waiting, "fanned_out")
    wait_until(
        lambda: "waiting for the relay" in house.pushbus("explain", waiting),
        "the row does not say that it waits for the relay",
    )
    text = house.pushbus("explain", waiting)
    assert text.startswith(f"alert event {waiting}\n")
    assert "from /python/monitor as cpu-1: recorded as admitted" in text
    assert "complete: 1 row written" in text
    assert "1 row waiting for the relay, none is connected to Delivery" in text
    assert house.pushbus("explain", "cpu-1", "--source", "/python/monitor") == text
    # The same for the phone, and for one that registered later.
    text = house.pushbus("explain", waiting, phone.installation)
    assert "may receive such events as it stands now" in text
    assert "1 row waiting for the relay" in text
    later = house.phone("bob", alerts=True)
    text = house.pushbus("explain", waiting, later.installation)
    assert "its binding (" in text and ") is newer than the event (" in text
    assert "no row: it was left out" in text
    assert "knows no such installation" in house.pushbus("explain", waiting, "nobody")

    reasons = {
        "inside the maintenance window 'night'": alert("cpu", server="db-1"),
        "its rule is switched off": alert("off"),
        "no trigger of its cycle notified anybody": alert("never", kind="resolved"),
        "below the threshold of the rule 'ssh': 5 of 10": detection("few", count=5),
    }
    for reason, event in reasons.items():
        text = house.pushbus("explain", published(event))
        assert f"suppressed: {reason}" in text and "fan-out" not in text
    # Nobody may have it: there is no administrator.
    nobody = published(detection("many"))
    house.wait_for(nobody, "fanned_out")
    text = house.pushbus("explain", nobody)
    assert "complete: no eligible installation; left out: 2 not allowed by the owner's role" in text
    assert "would not receive it now: not allowed" in house.pushbus(
        "explain", nobody, phone.installation
    )
    old = published(alert("old", time="2026-01-01T00:00:00Z"))
    assert "it happened more than 30 minutes before it came" in house.pushbus("explain", old)

    # A run that is not over, and one that is for somebody else.
    (noted,) = house.publish(attempt("r1", "a", "success"))
    assert "waits for its start" in house.pushbus("explain", noted["event_id"])
    house.publish(run_start("r1", ["a", "b"], "somebody"))
    assert "1 of 2 targets have their final result" in house.pushbus("explain", noted["event_id"])

    # The relay comes: the row ends.
    with house.relay() as relay:
        relay.serve_until(lambda r: len(r.received) >= 1)
        wait_until(
            lambda: "1 row accepted by APNs" in house.pushbus("explain", waiting),
            "the row was not accepted",
        )
    answer = json.loads(house.pushbus("explain", waiting, "--json"))
    assert answer["event"]["event"]["state"] == "fanned_out"
    assert answer["rows"] == [{"count": 1, "state": "accepted"}]
    assert phone.token not in str(answer) and "Rule cpu" not in str(answer)


def test_what_waits_for_others(house):
    house.start_all()
    for name in ("fanout", "registration"):
        house.services[name].stop()
    (trigger,), (recovery,) = house.publish(alert("cpu")), house.publish(alert("cpu", "resolved"))
    text = house.pushbus("explain", trigger["event_id"])
    assert "waiting for Registration" in text and "admitted, good until" in text
    # Who does not answer is named, and the rest is said all the same.
    text = house.pushbus("explain", trigger["event_id"], "phone", "--timeout", "1")
    assert "registration  unknown: Registration does not run in" in text
    house.start(
        "registration", HTTP="127.0.0.1:0", DEPLOYMENT_ID="https://pushbus.test/a",
        STORE=house.store("registration"), EVENTINGEST=house.endpoint("eventingest"),
        DELIVERY=house.endpoint("delivery"),
    )
    wait_until(
        lambda: "waiting for a Fanout" in house.pushbus("explain", trigger["event_id"]),
        "the trigger does not wait for a Fanout",
    )
    text = house.pushbus("explain", recovery["event_id"])
    assert f"waiting for the end of the trigger's fan-out ({trigger['event_id']})" in text


@pytest.mark.parametrize("words", [["no-uuid"], ["11111111-1111-4111-8111-111111111111"]])
def test_what_nobody_knows(house, words):
    house.start_all()
    house.pushbus("explain", *words, code=64 if words == ["no-uuid"] else 1)
