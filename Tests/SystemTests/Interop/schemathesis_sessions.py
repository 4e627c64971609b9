"""Loaded by schemathesis: gives each request a session that lives, whatever requests before ended.

Tests that end sessions are part of the run, so a token is looked at before it is used. Each request
comes from a source of its own, or the limits of one source would soon hide all other answers.
"""

import itertools
import json
import os
import urllib.error
import urllib.request

import schemathesis

URL = os.environ["PUSHBUS_TEST_URL"] + "/api/mobile"
CREDENTIALS = {
    "username": os.environ["PUSHBUS_TEST_USER"],
    "password": os.environ["PUSHBUS_TEST_PASSWORD"],
    "installation_id": "schemathesis",
}


def call(method: str, path: str, body=None, token: str = ""):
    request = urllib.request.Request(
        URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {token}",
            "X-Source": "192.0.2.1",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read())["data"]
    except urllib.error.HTTPError:
        return None


class Token:
    """One kind of token, made anew when it is accepted no more."""

    def __init__(self, probe: str, path: str, extra: dict, name: str):
        self.probe, self.path, self.extra, self.name = probe, path, extra, name
        self.token = ""

    def current(self) -> str:
        if not self.token or call("GET", self.probe, token=self.token) is None:
            self.token = call("POST", self.path, {**CREDENTIALS, **self.extra})[self.name]
        return self.token


NUMBERS = itertools.count()
ACCESS = Token("/devices", "/auth/login", {"device_name": "fuzz"}, "access_token")
RECOVERY = Token("/auth/recovery/sessions", "/auth/recovery", {}, "recovery_token")


@schemathesis.auth(refresh_interval=None)
class Session:
    def get(self, case, context):
        is_recovery = case.operation.path.startswith("/api/mobile/auth/recovery/sessions")
        return (RECOVERY if is_recovery else ACCESS).current()

    def set(self, case, data, context):
        number = next(NUMBERS)
        case.headers = {
            **(case.headers or {}),
            "Authorization": f"Bearer {data}",
            "X-Source": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
        }
