"""A bus peer and a phone in Python with pyzmq and JSON only, written from the documentation."""

import base64
import hashlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
import uuid

import zmq
from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def request_frames(message_type: str, body, request_id: str | None = None) -> list[bytes]:
    header = {
        "pushbus": 1,
        "type": message_type,
        "id": request_id or str(uuid.uuid4()),
        "content": "json",
    }
    return [json.dumps(header).encode(), json.dumps(body).encode()]


class Client:
    """A DEALER that asks and waits for the answer to its own question."""

    def __init__(self, context: zmq.Context, endpoint: str):
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(endpoint)

    def ask(self, message_type: str, body, timeout: float = 20):
        frames = request_frames(message_type, body)
        wanted = json.loads(frames[0])["id"]
        self.socket.send_multipart(frames)
        return self.answer(wanted, timeout)

    def answer(self, wanted: str, timeout: float = 20):
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            assert left > 0 and self.socket.poll(int(left * 1000)), "no answer on the bus"
            header, body = self.socket.recv_multipart()
            header = json.loads(header)
            if header.get("re") == wanted:
                return header["type"], json.loads(body)

    def close(self):
        self.socket.close()


class RelayStub:
    """Binds the Relay's endpoint, reads JSON alone and answers what it is told to."""

    def __init__(self, context: zmq.Context, endpoint: str):
        self.socket = context.socket(zmq.ROUTER)
        self.socket.linger = 0
        self.socket.bind(endpoint)
        self.received: list[dict] = []
        self.refused_packed = 0
        self.verdicts: list[dict] = []

    def serve_until(self, enough, timeout: float = 30):
        deadline = time.monotonic() + timeout
        while not enough(self):
            left = deadline - time.monotonic()
            assert left > 0, f"the relay stub has {len(self.received)} messages"
            if self.socket.poll(int(min(left, 0.2) * 1000)):
                self.serve_one()

    def serve_one(self):
        peer, header, body = self.socket.recv_multipart()
        header = json.loads(header)
        if header["content"] != "json":
            self.refused_packed += 1
            self.reply(peer, header, "reject.v1", {
                "code": "unsupported_content",
                "message": "this relay reads JSON only",
            })
            return
        if header["type"] != "relay.send.v1":
            self.reply(peer, header, "reject.v1", {
                "code": "unsupported_type",
                "message": "this relay only sends",
            })
            return
        messages = json.loads(body)["messages"]
        verdicts = []
        for index, message in enumerate(messages):
            self.received.append(message)
            verdict = self.verdicts.pop(0) if self.verdicts else {
                "outcome": "accepted", "reason": "Accepted", "scope": "message",
                "exposure": "answered",
            }
            verdicts.append({"index": index, **verdict})
        for verdict in verdicts[:-1]:
            self.reply(peer, header, "relay.verdict.v1", {"verdicts": [verdict], "last": False})
        self.reply(peer, header, "relay.verdict.v1", {"verdicts": verdicts[-1:], "last": True})

    def reply(self, peer: bytes, request: dict, message_type: str, body):
        header = {
            "pushbus": 1, "type": message_type, "id": str(uuid.uuid4()), "re": request["id"],
            "content": "json",
        }
        self.socket.send_multipart([peer, json.dumps(header).encode(), json.dumps(body).encode()])

    def close(self):
        self.socket.close()


class Service:
    """One service process, stopped by its own process id."""

    def __init__(self, commands, name: str, environment: dict[str, str], folder):
        self.ready_file = folder / f"{name}.ready"
        self.ready_file.unlink(missing_ok=True)
        self.log = open(folder / f"{name}.log", "ab")
        key = f"PUSHBUS_{name.upper()}_"
        self.process = subprocess.Popen(
            [str(commands / f"pushbus-{name}")],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                **{key + k: v for k, v in environment.items()},
                key + "READY_FILE": str(self.ready_file),
            },
            stderr=self.log,
        )

    def wait_ready(self, timeout: float = 30) -> dict:
        deadline = time.monotonic() + timeout
        while not self.ready_file.exists():
            assert self.process.poll() is None, f"the process ended with {self.process.returncode}"
            assert time.monotonic() < deadline, "the process is not ready"
            select_a_little()
        return json.loads(self.ready_file.read_text())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=30)
        finally:
            if self.process.poll() is None:
                self.kill()
            self.log.close()


def select_a_little():
    """The ready file is the signal; this is the pace at which it is looked for."""
    time.sleep(0.02)


class Phone:
    """Signs in, registers and opens envelopes as the documentation says."""

    def __init__(self, server: str, installation: str):
        self.server = server
        self.installation = installation
        self.key = os.urandom(32)
        self.key_id = str(uuid.uuid4())
        self.token = os.urandom(32).hex()
        self.session: dict = {}

    def call(self, method: str, path: str, body=None):
        request = urllib.request.Request(
            self.server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        if self.session:
            request.add_header("Authorization", "Bearer " + self.session["access_token"])
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                text = reply.read()
                return reply.status, json.loads(text) if text else {}
        except urllib.error.HTTPError as error:
            text = error.read()
            return error.code, json.loads(text) if text else {}

    def pair(self, code: str):
        status, reply = self.call("POST", "/api/mobile/auth/pair", {
            "code": code, "installation_id": self.installation, "device_name": "Python phone",
        })
        assert status == 200, reply
        self.session = reply["data"]

    def subscribe(self, **preferences: bool):
        status, reply = self.call("GET", "/api/mobile/push/settings")
        assert status == 200, reply
        wanted = {
            "enabled": True, "alerts": False, "security": False, "task_failure": False,
            "task_success": False, **preferences,
        }
        status, reply = self.call("PUT", "/api/mobile/push/settings", {
            "expected_revision": reply["data"]["revision"], "preferences": wanted,
        })
        assert status == 200, reply
        status, reply = self.call("POST", "/api/mobile/push/encrypted-register", {
            "expected_revision": reply["data"]["revision"],
            "device_token": self.token,
            "environment": "sandbox",
            "content_key_id": self.key_id,
            "content_key": base64.b64encode(self.key).decode(),
            "deployment_id": self.session["deployment_id"],
        })
        assert status == 200, reply

    def open(self, envelope: dict) -> dict:
        identity = hashlib.sha256(
            json.dumps(
                [self.session["deployment_id"], self.session["user_id"], self.installation],
                separators=(",", ":"), ensure_ascii=False,
            ).encode()
        ).hexdigest()
        assert envelope["version"] == 1 and envelope["key_id"] == self.key_id
        assert envelope["identity"] == identity
        aad = f"ServerBee.Push.v1|{self.key_id}|{identity}".encode()
        return json.loads(
            AESGCM(self.key).decrypt(
                base64.b64decode(envelope["nonce"], validate=True),
                base64.b64decode(envelope["ciphertext"], validate=True),
                aad,
            )
        )
