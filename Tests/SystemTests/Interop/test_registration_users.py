"""`pushbus user` and `pushbus pair` against a running Registration, and what phones notice of it."""

import base64
import hashlib
import hmac
import json
import re
import struct
import time
import urllib.parse

import pytest

from qr_reader import read_qr
from registration_process import RegistrationProcess


@pytest.fixture
def registration(commands):
    process = RegistrationProcess(commands)
    process.start()
    yield process
    process.close()


def one_time_code(uri: str, now: float) -> str:
    """RFC 6238, written from the RFC."""
    secret = urllib.parse.parse_qs(urllib.parse.urlsplit(uri).query)["secret"][0]
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(now) // 30), hashlib.sha1).digest()
    number = struct.unpack(">I", digest[digest[-1] & 15:][:4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


def sign_in(registration, name: str, password: str, **more) -> tuple[int, dict]:
    return registration.call("POST", "/auth/login", {
        "username": name, "password": password, "installation_id": f"phone-of-{name}",
        "device_name": "Python", **more,
    })


def listed(registration) -> dict[str, dict]:
    lines = registration.pushbus("user", "list", "--json").splitlines()
    return {user["username"]: user for user in map(json.loads, lines)}


def test_accounts_from_the_command_line(registration):
    add = ("user", "add", "alice", "--role", "admin")
    assert "added alice (admin)" in registration.pushbus(*add, given="correct horse\n")
    assert "exists already" in registration.pushbus(*add, given="other horse\n", expect=1)
    status, reply = sign_in(registration, "alice", "correct horse")
    assert status == 200 and reply["data"]["role"] == "admin"
    user = listed(registration)["alice"]
    assert (user["role"], user["devices"], user["totp"]) == ("admin", 1, False)

    token = reply["data"]["access_token"]
    assert registration.call("GET", "/admin/users", token=token)[0] == 200
    registration.pushbus("user", "role", "alice", "member")
    assert registration.call("GET", "/admin/users", token=token)[0] == 403
    assert registration.call("GET", "/push/settings", token=token)[0] == 200

    uri = registration.pushbus("user", "totp", "alice", "on").strip()
    assert uri.startswith("otpauth://totp/PushBus:alice?")
    status, reply = sign_in(registration, "alice", "correct horse")
    assert (status, reply["error"]["code"]) == (401, "one_time_code_required")
    now = time.time()
    right = one_time_code(uri, now)
    wrong = f"{(int(right) + 1) % 1_000_000:06}"
    near = {one_time_code(uri, now + 30 * step) for step in (-2, -1, 0, 1, 2)}
    if wrong not in near:
        assert sign_in(registration, "alice", "correct horse", one_time_code=wrong)[0] == 401
    assert sign_in(registration, "alice", "correct horse", one_time_code=right)[0] == 200
    assert sign_in(registration, "alice", "correct horse", one_time_code=right)[0] == 401
    assert listed(registration)["alice"]["totp"]
    registration.pushbus("user", "totp", "alice", "off")

    changed = registration.pushbus("user", "password", "alice", given="another horse\n")
    assert "ended: 1" in changed
    assert sign_in(registration, "alice", "correct horse")[0] == 401
    status, reply = sign_in(registration, "alice", "another horse")
    assert status == 200
    registration.pushbus("user", "delete", "alice", "--yes")
    assert listed(registration) == {}
    assert registration.call("GET", "/push/settings", token=reply["data"]["access_token"])[0] == 401
    assert sign_in(registration, "alice", "another horse")[0] == 401


def test_the_qr_code_signs_a_phone_in_once(registration):
    registration.add_user("bob", "member")
    printed = registration.pushbus("pair", "bob")
    code = re.search(r"^code +(\S+)$", printed, re.M).group(1)
    assert len(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))) * 8 >= 128
    link = urllib.parse.urlsplit(read_qr(printed))
    assert (link.scheme, link.netloc) == ("pushbus", "pair")
    carried = urllib.parse.parse_qs(link.query)
    assert carried == {"server": [registration.url], "code": [code]}
    body = {"code": carried["code"][0], "installation_id": "p", "device_name": "Python"}
    status, reply = registration.call("POST", "/auth/pair", body)
    assert status == 200 and reply["data"]["role"] == "member"
    assert registration.call("POST", "/auth/pair", body)[0] == 401
    assert "█" not in registration.pushbus("pair", "bob", "--no-qr")
    registration.pushbus("pair", "nobody", expect=1)
