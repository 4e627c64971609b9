"""Four real services and a place for the Relay's stub."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import uuid

import zmq

from pushbus_peer import Client, Phone, RelayStub, Service, select_a_little


class House:
    def __init__(self, commands):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pushbus-py-"))
        self.folder.chmod(0o700)
        self.commands = commands
        self.context = zmq.Context()
        self.services: dict[str, Service] = {}
        self.server = ""

    def endpoint(self, name: str) -> str:
        return f"ipc://{self.folder}/{name}.sock"

    def start(self, name: str, **environment: str) -> dict:
        service = Service(
            self.commands,
            name,
            {"BIND": self.endpoint(name), "LOG_LEVEL": "info", **environment},
            self.folder,
        )
        self.services[name] = service
        return service.wait_ready()

    def start_all(self, **eventingest: str) -> str:
        ready = self.start(
            "registration",
            HTTP="127.0.0.1:0",
            DEPLOYMENT_ID="https://pushbus.test/a",
            STORE=self.store("registration"),
            EVENTINGEST=self.endpoint("eventingest"),
            DELIVERY=self.endpoint("delivery"),
        )
        self.start("eventingest", **self.eventingest_environment(), **eventingest)
        self.start(
            "fanout",
            EVENTINGEST=self.endpoint("eventingest"),
            REGISTRATION=self.endpoint("registration"),
            DELIVERY=self.endpoint("delivery"),
        )
        self.start("delivery", **self.delivery_environment())
        self.server = f"http://127.0.0.1:{ready['http']}"
        return self.server

    def store(self, name: str) -> str:
        return f"sqlite:{self.folder}/{name}.db"

    def eventingest_environment(self) -> dict[str, str]:
        return {
            "STORE": self.store("eventingest"),
            "REGISTRATION": self.endpoint("registration"),
            "FANOUT": self.endpoint("fanout"),
        }

    def delivery_environment(self) -> dict[str, str]:
        return {
            "STORE": self.store("delivery"),
            "REGISTRATION": self.endpoint("registration"),
            "RELAY": self.endpoint("relay"),
        }

    def ask(self, service: str, message_type: str, body, timeout: float = 20):
        client = Client(self.context, self.endpoint(service))
        try:
            return client.ask(message_type, body, timeout)[1]
        finally:
            client.close()

    @contextlib.contextmanager
    def relay(self):
        stub = RelayStub(self.context, self.endpoint("relay"))
        try:
            yield stub
        finally:
            stub.close()

    def phone(self, name: str, role: str = "member", **preferences: bool) -> Phone:
        """An account with a phone that subscribes to what is named."""
        self.ask("registration", "registration.admin.user.add.v1", {
            "username": name, "password": "correct horse battery", "role": role,
        })
        pairing = self.ask("registration", "registration.admin.pair.v1", {"username": name})
        phone = Phone(self.server, f"phone-{name}")
        phone.pair(pairing["code"])
        phone.subscribe(**preferences)
        return phone

    def publish(self, *events: dict) -> list[dict]:
        return self.ask("eventingest", "event.publish.v1", list(events))["results"]

    def pushbus(self, *words: str, code: int = 0) -> str:
        """Runs the operator's command and gives what it printed."""
        run = subprocess.run(
            [str(self.commands / "pushbus"), *words, "--directory", str(self.folder)],
            capture_output=True, text=True, timeout=30,
        )
        assert run.returncode == code, f"{words} ended with {run.returncode}: {run.stderr}"
        return run.stdout

    def wait_for(self, event_id: str, *states: str) -> dict:
        """The event, once it is in one of the states."""
        deadline = time.monotonic() + 30
        while True:
            events = self.ask(
                "eventingest", "event.admin.query.v1", {"event_id": event_id, "limit": 1}
            )["events"]
            if events and events[0]["state"] in states:
                return events[0]
            assert time.monotonic() < deadline, f"{event_id} is {events}"
            select_a_little()

    def close(self):
        codes = {name: service.stop() for name, service in reversed(self.services.items())}
        self.context.destroy(linger=0)
        shutil.rmtree(self.folder, ignore_errors=True)
        assert set(codes.values()) == {0}, f"exit codes {codes}"


def event(kind: str, data: dict, source: str = "/python/monitor", **attributes) -> dict:
    return {
        "specversion": "1.0", "id": str(uuid.uuid4()), "source": source,
        "type": f"org.pushbus.{kind}.v1", "data": data, **attributes,
    }


def alert(rule: str, kind: str = "triggered", server: str = "web-1", **attributes) -> dict:
    return event(f"alert.{kind}", {
        "rule_id": rule, "rule_name": f"Rule {rule}", "server_id": server, "server_name": server,
        "started_at": "2026-01-01T00:00:00Z",
    }, **attributes)


def detection(number: str, count: int = 20, server: str = "web-1", **attributes) -> dict:
    return event("security.detected", {
        "security_event_type": "ssh_brute_force", "security_event_id": number, "server_id": server,
        "source_address": "203.0.113.9", "failed_count": count,
    }, **attributes)


def run_start(run: str, targets: list[str], user: str, manual: bool = True, **attributes) -> dict:
    return event("task.run.started", {
        "task_id": "backup", "run_id": run, "targets": targets, "maximum_attempts": 2,
        "trigger": "manual" if manual else "automatic",
        "initiator" if manual else "creator": user,
    }, **attributes)


def attempt(run: str, target: str, result: str, final: bool = True, **attributes) -> dict:
    return event("task.attempt.finished", {
        "task_id": "backup", "run_id": run, "target": target, "attempt": 1, "result": result,
        "final": final,
    }, **attributes)


def opened(phone: Phone, relay: RelayStub) -> list[dict]:
    """What the phone can read of all that the Relay got."""
    return [
        phone.open(message["envelope"]) for message in relay.received
        if message["device_token"] == phone.token
    ]


def wait_until(condition, what: str, timeout: float = 30):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, what
        select_a_little()


def as_json(text: str) -> dict:
    return json.loads(text)
