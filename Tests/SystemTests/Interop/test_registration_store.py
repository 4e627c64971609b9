"""Registration's store through backup, restoration and replaced keys, with real processes."""

import base64
import contextlib
import os
import random
import sqlite3
import threading

import pytest

from registration_process import RegistrationProcess

JUMP = 1 << 36


@pytest.fixture
def registration(commands):
    process = RegistrationProcess(commands)
    process.start()
    yield process
    process.close()


def subscribe(registration, session: dict, key: bytes, revision: int = 0) -> int:
    """Registers a fresh token and a key; the revision then."""
    access = session["access_token"]
    if revision == 0:
        status, reply = registration.call("PUT", "/push/settings", {
            "expected_revision": 0,
            "preferences": {
                "enabled": True, "alerts": True, "security": False, "task_failure": False,
                "task_success": False,
            },
        }, access)
        assert status == 200, reply
        revision = reply["data"]["revision"]
    status, reply = registration.call("POST", "/push/encrypted-register", {
        "expected_revision": revision,
        "device_token": os.urandom(32).hex(),
        "environment": "sandbox",
        "content_key_id": "22222222-2222-4222-8222-222222222222",
        "content_key": base64.b64encode(key).decode(),
        "deployment_id": session["deployment_id"],
    }, access)
    assert status == 200, reply
    return reply["data"]["revision"]


def audience(registration) -> dict[str, bytes]:
    answer = registration.ask("audience.page.v1", {
        "category": "alert", "watermark": (1 << 53) - 1, "audience": {}, "limit": 512,
    })
    assert not answer["more"]
    return {
        one["installation_id"]: base64.b64decode(one.get("content_key") or "")
        for one in answer["recipients"]
    }


def watermark(registration) -> int:
    return registration.ask("audience.open.v1", {})["watermark"]


def test_restoring_a_backup_ends_all_sessions_and_raises_the_counter(registration):
    registration.add_user("alice", "admin")
    session = registration.login("alice", "phone")
    subscribe(registration, session, os.urandom(32))
    backup = registration.folder / "backup.sqlite"
    registration.pushbus("registration", "backup", str(backup))
    assert backup.stat().st_mode & 0o777 == 0o600
    registration.pushbus("registration", "backup", str(backup), expect=1)
    # A restoration needs the service to be stopped.
    refused = registration.pushbus("registration", "restore", str(backup), "--yes", expect=1)
    assert "stop it first" in refused
    later = registration.login("alice", "tablet")
    subscribe(registration, later, os.urandom(32))
    before = watermark(registration)
    registration.process.stop()

    (registration.folder / "other.txt").write_text("no store")
    registration.pushbus(
        "registration", "restore", str(registration.folder / "other.txt"), "--yes", expect=65
    )
    registration.pushbus("registration", "restore", str(backup), expect=64)
    registration.pushbus("registration", "restore", str(backup), "--yes")
    kept = list(registration.folder.glob("registration.sqlite.before-*"))
    assert len(kept) == 1

    registration.start()
    assert "store restored: all sessions have ended" in registration.log
    for old in (session, later):
        status, _ = registration.call("GET", "/push/settings", token=old["access_token"])
        assert status == 401
        status, _ = registration.call(
            "POST", "/auth/refresh", {"refresh_token": old["refresh_token"]}
        )
        assert status == 401
    assert audience(registration) == {}
    assert watermark(registration) > max(before, JUMP)
    # Accounts are there, and phones come back with new numbers.
    again = registration.login("alice", "phone")
    status, reply = registration.call("GET", "/push/settings", token=again["access_token"])
    key = os.urandom(32)
    subscribe(registration, again, key, reply["data"]["revision"])
    assert audience(registration) == {"phone": key}
    # A restart is no restoration.
    registration.process.stop()
    registration.start()
    assert audience(registration) == {"phone": key}
    assert registration.log.count("store restored") == 1


def test_a_plain_copy_of_an_earlier_run_is_recognised(registration):
    registration.add_user("alice", "member")
    session = registration.login("alice", "phone")
    registration.process.stop()
    copy = registration.store.read_bytes()
    registration.start()
    status, _ = registration.call("GET", "/push/settings", token=session["access_token"])
    assert status == 200
    registration.process.stop()
    registration.store.write_bytes(copy)
    registration.start()
    status, _ = registration.call("GET", "/push/settings", token=session["access_token"])
    assert status == 401
    registration.pushbus("registration", "renew", expect=64)
    assert "ended: 0" in registration.pushbus("registration", "renew", "--yes")
    assert watermark(registration) >= 2 * JUMP


def test_a_killed_rotation_of_the_master_key_loses_no_key(registration):
    chance = random.Random(20261130)
    registration.add_user("alice", "admin")
    phones = {}
    for number in range(40):
        name = f"phone-{number}"
        session = registration.pair("alice", name)
        key = os.urandom(32)
        phones[name] = (session, key, subscribe(registration, session, key))
    key_file = registration.folder / "registration.sqlite.key"
    next_file = registration.folder / "registration.sqlite.key.next"
    seen = {key_file.read_bytes()}

    def register_some():
        """Phones register anew while the key is replaced; a killed server is no answer."""
        for name in chance.sample(sorted(phones), 6):
            session, _, revision = phones[name]
            key = os.urandom(32)
            try:
                done = subscribe(registration, session, key, revision)
            except OSError:
                # Whether it was committed is not known: ask before the next time.
                phones[name] = (session, None, None)
                return
            phones[name] = (session, key, done)

    for _ in range(8):
        worker = threading.Thread(target=register_some)
        try:
            registration.ask("registration.admin.masterkey.v1", {"begin": True})
            worker.start()
            # The kill comes at any moment of it; no signal could say which one is the worst.
            threading.Event().wait(chance.random() * 0.03)
        finally:
            registration.process.kill()
            worker.join()
        registration.start()
        for name, (session, key, revision) in list(phones.items()):
            if revision is None:
                status, reply = registration.call(
                    "GET", "/push/settings", token=session["access_token"]
                )
                assert status == 200
                key = os.urandom(32)
                revision = reply["data"]["revision"]
                phones[name] = (session, key, subscribe(registration, session, key, revision))
    output = registration.pushbus("keys", "rotate-master")
    assert "under the new master key" in output
    assert not next_file.exists()
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert key_file.read_bytes() not in seen
    expected = {name: key for name, (_, key, _) in phones.items()}
    assert audience(registration) == expected
    # And again from the file alone.
    registration.process.stop()
    with contextlib.closing(sqlite3.connect(registration.store)) as store:
        assert store.execute("SELECT COUNT(*) FROM installations").fetchone() == (40,)
    registration.start()
    assert audience(registration) == expected
    assert "content key unreadable" not in registration.log
