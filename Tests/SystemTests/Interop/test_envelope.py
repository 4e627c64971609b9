"""Envelopes sealed by `pushbus envelope` are opened by an independent implementation, and back."""

import copy
import hashlib
import json
import os
import pathlib
import secrets
import subprocess

import pytest
from cryptography.exceptions import InvalidTag

import envelope_v1

KEY = bytes(range(32))
NONCE = bytes(range(0x20, 0x2C))
KEY_ID = "22222222-2222-4222-8222-222222222222"


def command():
    """The built binary; its absence is a failure, never a skip."""
    folder = os.environ.get("PUSHBUS_BIN_DIR")
    assert folder, "set PUSHBUS_BIN_DIR to the folder of the built binaries"
    path = pathlib.Path(folder) / "pushbus"
    assert path.is_file(), f"no pushbus in {folder}: run swift build first"
    return path


def run(verb, description):
    return subprocess.run(
        [command(), "envelope", verb],
        input=json.dumps(description, ensure_ascii=False).encode(),
        capture_output=True,
        timeout=30,
        check=False,
    )


def swift_seal(content, key=KEY, nonce=NONCE):
    description = {"key": key.hex(), "key_id": KEY_ID, "content": content}
    if nonce is not None:
        description["nonce"] = nonce.hex()
    result = run("seal", description)
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout)


def swift_open(envelope, key=KEY, **more):
    return run("open", {"key": key.hex(), "envelope": envelope, **more})


def content_of(kind="test", **more):
    return {
        "kind": kind,
        "deployment_id": "https://serverbee.test",
        "user_id": "alice",
        "installation_id": "test-install",
        "event_id": "11111111-1111-4111-8111-111111111111",
        "created_at": 2000000000,
        "expires_at": 2000001800,
        **more,
    }


def alert(rule="CPU", server="web-1", status="firing", key="v1.WyJyIiwicyIsImEiLCJ0Il0="):
    part = {"alert_key": key, "status": status, "rule_name": rule, "server_name": server}
    return content_of("alert", alert=part)


def task(kind):
    run_part = {
        "task_id": "task/1",
        "run_id": "run-1",
        "total": 7,
        "failed": 1,
        "timed_out": 2,
        "offline": 3,
        "denied": 1,
    }
    return content_of(kind, task_run=run_part)


TEXTS = {
    "emoji": "🔥 👩‍👩‍👧‍👦 🇩🇪 👍🏽",
    "combining": "Ame\u0301lie n\u0303 \u1100\u1161\u11a8",
    "rtl": "خادم الويب שרת \u202eabc\u202c",
    "slashes": "https://a/b\\c//d",
    "quotes": "\"double\" 'single' `tick`",
    "controls": "".join(map(chr, range(0x20))) + "\x7f",
    "separators": "line\u2028para\u2029nbsp\u00a0bom\ufeff",
    "html": "<script>&amp;</script>",
    "empty": "",
    "long": "x" * 120,
    "long_emoji": "😀" * 120,
    "chinese": "服务器负载过高",
}

CONTENTS = {
    "test": content_of(),
    "security": content_of(
        "security",
        server_id="srv-1",
        security_event_id="ev-1",
        security_event_type="ssh_brute_force_detected",
    ),
    "task_failure": task("task_failure"),
    "task_success": task("task_success"),
    "alert_resolved": alert(status="resolved"),
    **{f"alert_{name}": alert(rule=text, server=text[::-1]) for name, text in TEXTS.items()},
    **{
        f"identity_{name}": {**content_of(), "user_id": text, "installation_id": f"i/{text}"}
        for name, text in TEXTS.items()
    },
}


@pytest.mark.parametrize("name", CONTENTS)
def test_sealed_by_swift_opened_by_python(name):
    content = CONTENTS[name]
    plaintext = envelope_v1.open_envelope(KEY, swift_seal(content, nonce=None))
    assert plaintext == envelope_v1.compact(content)


@pytest.mark.parametrize("name", CONTENTS)
def test_same_bytes_under_the_same_nonce(name):
    content = CONTENTS[name]
    assert swift_seal(content) == envelope_v1.seal(KEY, KEY_ID, NONCE, content)


@pytest.mark.parametrize("name", CONTENTS)
def test_sealed_by_python_opened_by_swift(name):
    content = CONTENTS[name]
    envelope = envelope_v1.seal(secret := secrets.token_bytes(32), KEY_ID, os.urandom(12), content)
    result = swift_open(envelope, key=secret, key_id=KEY_ID, content=content)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.rstrip(b"\n") == envelope_v1.compact(content)


def test_vector():
    envelope = swift_seal(content_of())
    assert envelope["identity"] == (
        "40e9ea0a395dec3bafe5e84afbbe2e726ac53aa273f168b4ac650b208fdef51f"
    )
    assert hashlib.sha256(envelope["ciphertext"].encode()).hexdigest() == (
        "7860ed8e2b32ce6fcf7e49bd5deed63e1aa097378a88b3c773290aef6e5e0e04"
    )


def test_fresh_nonce_every_time():
    assert swift_seal(content_of(), nonce=None)["nonce"] != (
        swift_seal(content_of(), nonce=None)["nonce"]
    )


def test_largest_plaintext():
    content = alert(rule="", server="", key="")
    room = 2048 - len(envelope_v1.compact(content))
    content["alert"]["alert_key"] = "A" * room
    assert len(envelope_v1.open_envelope(KEY, swift_seal(content))) == 2048
    content["alert"]["alert_key"] += "A"
    result = run("seal", {"key": KEY.hex(), "key_id": KEY_ID, "content": content})
    assert result.returncode != 0
    assert b"2048" in result.stderr


def test_titles_are_cut_between_graphemes():
    family = "👩‍👩‍👧‍👦"
    opened = envelope_v1.open_envelope(KEY, swift_seal(alert(rule=family * 30, server="s" * 500)))
    part = json.loads(opened)["alert"]
    assert part["rule_name"] == family * 17
    assert part["server_name"] == "s" * 120


def test_titles_give_way_to_the_byte_limit():
    content = alert(rule="😀" * 120, server="e\u0301" * 60, key="A" * 1400)
    part = json.loads(envelope_v1.open_envelope(KEY, swift_seal(content)))["alert"]
    assert part["alert_key"] == "A" * 1400
    assert set(part["rule_name"]) == {"😀"}
    assert part["server_name"] == "e\u0301" * (len(part["server_name"]) // 2)


def flip(text, index):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = alphabet[(alphabet.index(text[index]) + 1) % 64]
    return text[:index] + other + text[index + 1 :]


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.update(version=2),
        lambda e: e.update(version="1"),
        lambda e: e.update(key_id="22222222-2222-4222-8222-222222222223"),
        lambda e: e.update(key_id=KEY_ID.upper().replace("2", "A")),
        lambda e: e.update(identity="0" * 64),
        lambda e: e.update(identity=e["identity"].upper()),
        lambda e: e.update(nonce=flip(e["nonce"], 0)),
        lambda e: e.update(nonce=e["nonce"][:-4]),
        lambda e: e.update(ciphertext=flip(e["ciphertext"], 0)),
        lambda e: e.update(ciphertext=flip(e["ciphertext"], -10)),
        lambda e: e.update(ciphertext=e["ciphertext"].replace("/", "_").replace("+", "-") + "\n"),
        lambda e: e.update(ciphertext="AAAA"),
        lambda e: e.pop("identity"),
    ],
)
def test_swift_refuses_a_changed_envelope(change):
    envelope = copy.deepcopy(swift_seal(content_of()))
    change(envelope)
    result = swift_open(envelope)
    assert result.returncode != 0
    assert result.stdout == b""
    assert result.stderr.strip(), "an error says what is wrong"
    assert KEY.hex().encode() not in result.stderr


def test_swift_refuses_the_wrong_key_and_the_wrong_recipient():
    envelope = swift_seal(content_of())
    assert swift_open(envelope, key=bytes(32)).returncode != 0
    assert swift_open(envelope, content={**content_of(), "user_id": "bob"}).returncode != 0
    assert swift_open(envelope, key_id="33333333-3333-4333-8333-333333333333").returncode != 0


def test_python_refuses_what_swift_sealed_under_another_key():
    with pytest.raises(InvalidTag):
        envelope_v1.open_envelope(bytes(32), swift_seal(content_of()))
