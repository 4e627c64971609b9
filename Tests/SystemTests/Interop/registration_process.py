"""A Registration as a real process in a folder of its own, with nobody else on the bus."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

import zmq

from pushbus_peer import Client, Service

PASSWORD = "correct horse"


class RegistrationProcess:
    """The process, its files, its bus and its HTTP interface."""

    def __init__(self, commands: pathlib.Path):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pushbus-reg-"))
        self.folder.chmod(0o700)
        self.commands = commands
        self.context = zmq.Context()
        self.process: Service | None = None
        self.url = ""

    @property
    def store(self) -> pathlib.Path:
        return self.folder / "registration.sqlite"

    @property
    def log(self) -> str:
        return (self.folder / "registration.log").read_text()

    def endpoint(self, name: str) -> str:
        return f"ipc://{self.folder}/{name}.sock"

    def start(self, **environment: str):
        self.process = Service(
            self.commands,
            "registration",
            {
                "BIND": self.endpoint("registration"),
                "EVENTINGEST": self.endpoint("eventingest"),
                "DELIVERY": self.endpoint("delivery"),
                "HTTP": "127.0.0.1:0",
                "STORE": f"sqlite:{self.store}",
                "DEPLOYMENT_ID": "https://push.example.org",
                "LOG_LEVEL": "debug",
                **environment,
            },
            self.folder,
        )
        self.url = f"http://127.0.0.1:{self.process.wait_ready()['http']}"

    def ask(self, message_type: str, body, timeout: float = 20):
        client = Client(self.context, self.endpoint("registration"))
        try:
            kind, answer = client.ask(message_type, body, timeout)
        finally:
            client.close()
        assert kind != "reject.v1", answer
        return answer

    def pushbus(self, *words: str, expect: int = 0, given: str = "") -> str:
        """Runs the operator's command; its output."""
        run = subprocess.run(
            [str(self.commands / "pushbus"), *words],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "PUSHBUS_DIRECTORY": str(self.folder),
            },
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert run.returncode == expect, run.stdout + run.stderr
        return run.stdout + run.stderr

    def add_user(self, name: str, role: str):
        return self.ask(
            "registration.admin.user.add.v1",
            {"username": name, "password": PASSWORD, "role": role},
        )["user_id"]

    def call(self, method: str, path: str, body=None, token: str | None = None):
        request = urllib.request.Request(
            self.url + "/api/mobile" + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"} if body is not None else {},
        )
        if token:
            request.add_header("Authorization", "Bearer " + token)
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def login(self, name: str, installation: str) -> dict:
        status, reply = self.call("POST", "/auth/login", {
            "username": name, "password": PASSWORD, "installation_id": installation,
            "device_name": "Python",
        })
        assert status == 200, reply
        return reply["data"]

    def pair(self, name: str, installation: str) -> dict:
        code = self.ask("registration.admin.pair.v1", {"username": name})["code"]
        status, reply = self.call("POST", "/auth/pair", {
            "code": code, "installation_id": installation, "device_name": "Python",
        })
        assert status == 200, reply
        return reply["data"]

    def close(self):
        code = self.process.stop() if self.process else 0
        self.context.term()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert code == 0, "exit code"
