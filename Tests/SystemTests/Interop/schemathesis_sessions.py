"""Loaded by schemathesis: gives each request a session that lives, whatever requests before ended.

schemathesis learns identifiers from replies and uses them: it gives the account that it is signed in
with another password, another role or an end. So accounts are made over the bus, which no request
reaches, and another one as soon as one is no longer accepted. Each request comes from a source of its
own, or the limits of one source would soon hide all other answers.

Most requests that keep to the description also name what is there (`BODIES`, `PARAMETERS`), so that
they are carried out. What was answered is kept for the test to look at.
"""

import hashlib
import itertools
import json
import os
import random
import urllib.error
import urllib.request
import uuid

import schemathesis
import zmq
from schemathesis.core import NotSet

from pushbus_peer import Client

URL = os.environ["PUSHBUS_TEST_URL"] + "/api/mobile"
ROLE = os.environ["PUSHBUS_TEST_ROLE"]
PASSWORD = "correct horse"

NUMBERS = itertools.count(1)
CHANCE = random.Random(20261130)
BUS = Client(zmq.Context.instance(), os.environ["PUSHBUS_TEST_BUS"])
SEEN = open(os.environ["PUSHBUS_TEST_SEEN"], "a", buffering=1)


class Refused(Exception):
    """What the hooks need themselves was refused."""


def ask(message_type: str, body) -> dict:
    kind, answer = BUS.ask(message_type, body)
    if kind == "reject.v1":
        raise Refused(f"{message_type}: {answer}")
    return answer


def call(method: str, path: str, body=None, token: str = "") -> dict:
    number = next(NUMBERS)
    request = urllib.request.Request(
        URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {token}",
            "X-Source": f"hooks-{number}",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read())["data"]
    except urllib.error.HTTPError as error:
        raise Refused(f"{method} {path}: {error.code} {error.read()!r}") from None


def is_accepted(path: str, token: str) -> bool:
    try:
        call("GET", path, token=token)
        return True
    except Refused as refusal:
        if ": 401 " in str(refusal) or ": 403 " in str(refusal):
            return False
        raise


class Account:
    """An account that nobody has heard of yet."""

    def __init__(self, role: str = ROLE):
        self.name = f"fuzz-{uuid.uuid4()}"
        self.installation = f"phone-of-{self.name}"
        self.user_id = ask("registration.admin.user.add.v1", {
            "username": self.name, "password": PASSWORD, "role": role,
        })["user_id"]

    def code(self) -> str:
        return ask("registration.admin.pair.v1", {"username": self.name})["code"]

    def sign_in(self, suffix: str = "") -> dict:
        return call("POST", "/auth/pair", {
            "code": self.code(), "installation_id": self.installation + suffix,
            "device_name": "fuzz",
        })


class Login:
    """The account that requests are sent by and its two tokens, made anew when they end."""

    def __init__(self):
        self.account: Account | None = None
        self.session: dict = {}
        self.recovery = ""

    def live(self) -> dict:
        probe = "/admin/users?limit=1" if ROLE == "admin" else "/devices"
        if not self.session or not is_accepted(probe, self.session["access_token"]):
            self.account = Account()
            self.session = self.account.sign_in()
            self.recovery = ""
        return self.session

    def authorization(self) -> str:
        if not self.recovery or not is_accepted("/auth/recovery/sessions", self.recovery):
            self.live()
            self.recovery = call("POST", "/auth/recovery", {
                "code": self.account.code(), "installation_id": self.account.installation,
            })["recovery_token"]
        return self.recovery

    def token(self, path: str) -> str:
        if path.startswith("/api/mobile/auth/recovery/sessions"):
            return self.authorization()
        return self.live()["access_token"]


LOGIN = Login()


def revision() -> int:
    return call("GET", "/push/settings", token=LOGIN.session["access_token"])["revision"]


def enable() -> int:
    """Switches everything on that every role may have; the revision after that."""
    return call("PUT", "/push/settings", {
        "expected_revision": revision(),
        "preferences": {
            "enabled": True, "alerts": True, "security": False, "task_failure": False,
            "task_success": False,
        },
    }, LOGIN.session["access_token"])["revision"]


def registration(at: int) -> dict:
    return {
        "expected_revision": at,
        "device_token": os.urandom(32).hex(),
        "environment": "sandbox",
        "content_key_id": str(uuid.uuid4()),
        "content_key": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "deployment_id": LOGIN.session["deployment_id"],
    }


def test_request() -> dict:
    at = call(
        "POST", "/push/encrypted-register", registration(enable()), LOGIN.session["access_token"]
    )["revision"]
    return {"event_id": str(uuid.uuid4()), "expected_revision": at}


def requested_test() -> str:
    return call("POST", "/push/test", test_request(), LOGIN.session["access_token"])["event_id"]


def device() -> dict:
    return {"installation_id": f"phone-{next(NUMBERS)}", "device_name": "fuzz"}


def log_in() -> dict:
    return {"username": LOGIN.account.name, "password": PASSWORD, **device()}


def revocation() -> dict:
    other = LOGIN.account.sign_in("-2")
    token = hashlib.sha256(other["refresh_token"].encode()).hexdigest()
    return {"session_id": other["session_id"], "refresh_token_hash": token}


def preferences(body: dict) -> dict:
    chosen = dict(body["preferences"])
    if ROLE == "member":
        chosen |= {"security": False, "task_failure": False, "task_success": False}
    return {"expected_revision": revision(), "preferences": chosen}


# By operation, what a body becomes and what a parameter of the path becomes.
BODIES = {
    "login": lambda body: log_in(),
    "pair": lambda body: {"code": LOGIN.account.code(), **device()},
    "refresh": lambda body: {"refresh_token": LOGIN.account.sign_in("-2")["refresh_token"]},
    "revoke": lambda body: revocation(),
    "issueProof": lambda body: {"expected_session_id": LOGIN.session["session_id"]},
    "openRecovery": lambda body: {
        "code": LOGIN.account.code(), "installation_id": LOGIN.account.installation,
    },
    "saveSettings": preferences,
    "register": lambda body: registration(enable()),
    "requestTest": lambda body: test_request(),
}
PARAMETERS = {
    "endRecoverableSession": lambda: {"session_id": LOGIN.session["session_id"]},
    "endDevice": lambda: {"session_id": LOGIN.account.sign_in("-2")["session_id"]},
    "readTest": lambda: {"event_id": requested_test()},
    "deleteUser": lambda: {"user_id": Account("member").user_id},
    "changeRole": lambda: {"user_id": Account("member").user_id},
    "changePassword": lambda: {"user_id": Account("member").user_id},
    "changeTOTP": lambda: {"user_id": Account("member").user_id},
    "pairUser": lambda: {"user_id": Account("member").user_id},
}


def name(case) -> str:
    return case.operation.definition.raw["operationId"]


def send_with(case, header: str, value: str):
    """In place: schemathesis takes other headers than it made for a breach of the description."""
    if case.headers is None:
        case.headers = {}
    case.headers[header] = value


@schemathesis.auth(refresh_interval=None)
class Session:
    def get(self, case, context):
        return LOGIN.token(case.operation.path)

    def set(self, case, data, context):
        send_with(case, "Authorization", f"Bearer {data}")


@schemathesis.hook
def filter_case(context, case):
    """schemathesis takes it for a breach when a body is left out that may be."""
    may_be_left_out = name(case) in ("logout", "issuePairingCode", "pairUser")
    is_left_out = may_be_left_out and isinstance(case.body, NotSet)
    return not is_left_out or case.meta is None or case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(NUMBERS)
    send_with(case, "X-Source", f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}")
    keeps = case.meta is not None and case.meta.generation.mode.is_positive
    if not keeps or case.meta.phase.name.value == "stateful" or CHANCE.random() < 0.3:
        return
    LOGIN.live()
    if name(case) in BODIES:
        case.body = BODIES[name(case)](case.body)
    if name(case) in PARAMETERS:
        case.path_parameters = {**case.path_parameters, **PARAMETERS[name(case)]()}
    if case.headers.get("Authorization"):
        send_with(case, "Authorization", f"Bearer {LOGIN.token(case.operation.path)}")


@schemathesis.hook
def after_call(context, case, response):
    SEEN.write(f"{name(case)} {response.status_code}\n")
