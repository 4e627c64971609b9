"""Whom the events reach, with four real services, phones in Python and a stub of the Relay."""

import json
import shutil
import urllib.error
import urllib.request

from pushbus_house import alert, attempt, detection, opened, run_start


def test_a_detection_reaches_administrators_alone_and_is_no_alert(house):
    house.start_all()
    admin = house.phone("admin", "admin", alerts=True, security=True)
    member = house.phone("member", alerts=True)
    silent = house.phone("silent", "admin", alerts=True)
    for rule in ("ssh", "ssh-too"):
        house.pushbus(
            "rule", "security", rule, "--type", "ssh_brute_force_detected", "--threshold", "10"
        )
    with house.relay() as relay:
        (result,) = house.publish(detection("d1"))
        assert result["status"] == "accepted"
        done = house.wait_for(result["event_id"], "fanned_out")
        assert (done["category"], done["written"]) == ("security", 1)
        # An alert afterwards shows that nothing else of the detection was on the way.
        (after,) = house.publish(alert("cpu"))
        house.wait_for(after["event_id"], "fanned_out")
        relay.serve_until(lambda r: len(r.received) == 4)
        assert [note["kind"] for note in opened(admin, relay)].count("security") == 1
        assert sorted(note["kind"] for note in opened(admin, relay)) == ["alert", "security"]
        assert [note["kind"] for note in opened(member, relay)] == ["alert"]
        assert [note["kind"] for note in opened(silent, relay)] == ["alert"]
        (note,) = [note for note in opened(admin, relay) if note["kind"] == "security"]
        assert note["security_event_type"] == "ssh_brute_force"
        assert note["security_event_id"] == "d1"


def test_a_summary_reaches_whoever_started_or_made_the_run(house):
    house.start_all()
    alice = house.phone("alice", "admin", task_failure=True)
    carol = house.phone("carol", "admin", task_failure=True, task_success=True)
    bob = house.phone("bob", "admin", task_failure=True)
    user = lambda phone: phone.session["user_id"]  # noqa: E731
    with house.relay() as relay:
        # Out of order, with an intermediate failure; a mixed run is a failure.
        house.publish(attempt("r1", "a", "failed", final=False), attempt("r1", "b", "success"))
        (result,) = house.publish(run_start("r1", ["a", "b"], user(alice)))
        assert result["status"] == "accepted"
        last = attempt("r1", "a", "timeout")
        last["data"]["attempt"] = 2
        (result,) = house.publish(last)
        assert house.wait_for(result["event_id"], "fanned_out")["category"] == "task_failure"
        # An automatic run is its creator's, and a success is for those who want it.
        house.publish(run_start("r2", ["a"], user(carol), manual=False))
        (result,) = house.publish(attempt("r2", "a", "success"))
        assert house.wait_for(result["event_id"], "fanned_out")["written"] == 1
        house.publish(run_start("r3", ["a"], user(alice)))
        (result,) = house.publish(attempt("r3", "a", "success"))
        skipped = house.wait_for(result["event_id"], "fanned_out")
        assert (skipped["written"], skipped["skipped"]) == (0, {"unsubscribed": 1})
        # No longer an administrator when the summary comes: nothing for bob.
        house.publish(run_start("r4", ["a"], user(bob)))
        house.pushbus("user", "role", "bob", "member")
        (result,) = house.publish(attempt("r4", "a", "denied"))
        assert house.wait_for(result["event_id"], "fanned_out")["written"] == 0
        relay.serve_until(lambda r: len(r.received) == 2)
        (failure,) = opened(alice, relay)
        assert failure["kind"] == "task_failure"
        assert failure["task_run"] == {
            "task_id": "backup", "run_id": "r1", "total": 2, "failed": 0, "timed_out": 1,
            "offline": 0, "denied": 0,
        }
        assert [note["kind"] for note in opened(carol, relay)] == ["task_success"]
        assert opened(bob, relay) == []


def test_revoking_an_integrator_cancels_what_is_not_admitted(house):
    # A window whose zone cannot be read any more leaves detections of its server undecided.
    zones = house.folder / "zones"
    (zones / "Test").mkdir(parents=True)
    shutil.copy("/usr/share/zoneinfo/UTC", zones / "Test/Zone")
    settings = {"HTTP": "127.0.0.1:0", "ZONEINFO": str(zones)}
    house.start_all(**settings)
    admin = house.phone("admin", "admin", security=True)
    house.pushbus("rule", "security", "ssh", "--type", "ssh_brute_force_detected")
    house.pushbus(
        "maintenance", "add", "weekly", "--zone", "Test/Zone", "--weekly", "mon", "--from", "00:00",
        "--until", "00:01", "--include", "shaky",
    )
    shutil.rmtree(zones / "Test")
    house.services["eventingest"].stop()
    ready = house.start("eventingest", **house.eventingest_environment(), **settings)
    house.pushbus("integrator", "add", "monitor", "--sources", "/python/*")
    key = house.pushbus("integrator", "key", "monitor").strip()

    def post(body: dict) -> int:
        request = urllib.request.Request(
            f"http://127.0.0.1:{ready['http']}/v1/events", data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {key}", "Content-Type": "application/cloudevents+json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                result = json.loads(reply.read())["results"][0]
                post.ids.append(result["event_id"])
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code

    post.ids = []
    with house.relay() as relay:
        assert post(detection("waiting", server="shaky")) == 200
        assert post(detection("free", server="steady")) == 200
        waiting, free = post.ids
        assert house.wait_for(waiting, "unresolved")["reason"] == "waiting_for_decision"
        text = house.pushbus("explain", waiting)
        assert "not decided yet: a window's time zone cannot be read" in text
        relay.serve_until(lambda r: len(r.received) == 1)
        house.pushbus("integrator", "remove", "monitor")
        assert house.wait_for(waiting, "suppressed")["reason"] == "principal_revoked"
        assert house.wait_for(free, "fanned_out")["written"] == 1
        assert post(detection("late", server="steady")) == 401
        (note,) = opened(admin, relay)
        assert note["security_event_id"] == "free"
        assert "its integrator may no longer publish it" in house.pushbus("explain", waiting)
