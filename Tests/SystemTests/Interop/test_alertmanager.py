"""An unmodified Prometheus Alertmanager of Debian drives EventIngest through its webhook."""

import datetime
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import urllib.request

import pytest

from pushbus_house import opened, wait_until


PROGRAM = shutil.which("prometheus-alertmanager")

CONFIGURATION = """\
route:
  receiver: phones
  group_by: [alertname]
  group_wait: 200ms
  group_interval: 1s
  repeat_interval: 2s
receivers:
  - name: phones
    webhook_configs:
      - url: {url}/v1/hooks/alertmanager
        send_resolved: true
        http_config: {{authorization: {{credentials_file: {key}}}}}
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Alertmanager:
    """One process with its own configuration, storage and port, ended by its own process id."""

    def __init__(self, url: str, key: str):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pushbus-am-"))
        (self.folder / "key").write_text(key)
        (self.folder / "config.yml").write_text(
            CONFIGURATION.format(url=url, key=self.folder / "key")
        )
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(
            [
                PROGRAM, f"--config.file={self.folder}/config.yml",
                f"--storage.path={self.folder}/data", "--cluster.listen-address=",
                f"--web.listen-address={self.url.removeprefix('http://')}", "--log.level=debug",
            ],
            env={"PATH": os.environ["PATH"]}, stdout=self.log, stderr=self.log,
        )
        wait_until(self.is_ready, "Alertmanager is not ready")

    def is_ready(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as reply:
                return reply.status == 200
        except OSError:
            return False

    def send(self, *alerts: dict):
        """Posts alerts to its API v2, as Prometheus does."""
        request = urllib.request.Request(
            f"{self.url}/api/v2/alerts", data=json.dumps(alerts).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as reply:
            assert reply.status == 200

    def attempts(self, code: str = "") -> float:
        """Failed notifications by its own count."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=20) as reply:
            lines = reply.read().decode().splitlines()
        name = "alertmanager_notification_requests_failed_total"
        return sum(
            float(line.split()[-1]) for line in lines
            if line.startswith(name) and 'integration="webhook"' in line
        )

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def firing(name: str, instance: str, started: str, **more) -> dict:
    return {"labels": {"alertname": name, "instance": instance}, "startsAt": started, **more}


@pytest.fixture
def setting(house):
    """The house with a door on a port that stays, an integrator, and Alertmanager in front."""
    door = f"127.0.0.1:{free_port()}"
    house.start_all(HTTP=door)
    house.pushbus("integrator", "add", "alertmanager", "--sources", "/alertmanager/*")
    key = house.pushbus("integrator", "key", "alertmanager").strip()
    alertmanager = Alertmanager(f"http://{door}", key)
    yield house, alertmanager, door
    alertmanager.close()


def status(house) -> dict:
    return house.ask("eventingest", "service.status.v1", {})["metrics"]


def published(house, answer: str) -> float:
    return status(house).get(f'pushbus_eventingest_published_total{{status="{answer}"}}', 0)


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


def test_alertmanager_drives_the_phones(setting):
    house, alertmanager, door = setting
    phone = house.phone("alice", alerts=True)
    started = now()
    with house.relay() as relay:
        # Two alerts of one group: one notification for each fingerprint and start.
        pair = [firing("HighCPU", f"web-{number}", started) for number in (1, 2)]
        alertmanager.send(*pair)
        relay.serve_until(lambda r: len(r.received) == 2)
        notes = opened(phone, relay)
        assert {note["alert"]["server_name"] for note in notes} == {"web-1", "web-2"}
        assert {note["alert"]["status"] for note in notes} == {"firing"}
        assert {note["alert"]["rule_name"] for note in notes} == {"HighCPU"}

        # It repeats itself after repeat_interval; each repeat is a duplicate.
        wait_until(lambda: published(house, "duplicate") >= 4, "nothing was repeated")
        assert published(house, "accepted") == 2

        # One of the group ends; the other goes on.
        ended = now()
        alertmanager.send({**pair[0], "endsAt": ended}, pair[1])
        relay.serve_until(lambda r: len(r.received) == 3)
        note = opened(phone, relay)[2]
        assert (note["alert"]["server_name"], note["alert"]["status"]) == ("web-1", "resolved")

        # The same labels with a new start are a new cycle.
        alertmanager.send(firing("HighCPU", "web-1", now()))
        relay.serve_until(lambda r: len(r.received) == 4)
        note = opened(phone, relay)[3]
        assert (note["alert"]["server_name"], note["alert"]["status"]) == ("web-1", "firing")

        # While EventIngest is down Alertmanager tries again, and nothing is lost or doubled.
        house.services["eventingest"].kill()
        failures = alertmanager.attempts()
        alertmanager.send(firing("DiskFull", "db-1", started))
        wait_until(lambda: alertmanager.attempts() > failures, "nothing was tried")
        house.start("eventingest", **house.eventingest_environment(), HTTP=door)
        relay.serve_until(lambda r: len(r.received) == 5)
        assert opened(phone, relay)[4]["alert"]["rule_name"] == "DiskFull"
        wait_until(lambda: published(house, "duplicate") >= 4, "nothing was repeated")
        assert len(relay.received) == 5


def test_alertmanager_comes_again_after_a_503(setting):
    house, alertmanager, door = setting
    house.services["eventingest"].stop()
    # Room for one open event, and nobody who fans it out.
    house.services["fanout"].stop()
    house.start(
        "eventingest", **house.eventingest_environment(), HTTP=door, OPEN_EVENTS="1"
    )
    phone = house.phone("alice", alerts=True)
    started = now()
    alertmanager.send(firing("First", "web-1", started))
    wait_until(lambda: published(house, "accepted") == 1, "the first one was not taken")
    failures = alertmanager.attempts()
    alertmanager.send(firing("Second", "web-1", started))
    wait_until(lambda: published(house, "retry_after") >= 1, "the full store took it")
    wait_until(lambda: alertmanager.attempts() > failures, "Alertmanager does not count a 503")
    answer = house.ask("eventingest", "service.status.v1", {})
    assert not answer["ready"] and "room" in answer["conditions"]
    house.start(
        "fanout", EVENTINGEST=house.endpoint("eventingest"),
        REGISTRATION=house.endpoint("registration"), DELIVERY=house.endpoint("delivery"),
    )
    with house.relay() as relay:
        relay.serve_until(lambda r: len(r.received) == 2, timeout=60)
        names = [note["alert"]["rule_name"] for note in opened(phone, relay)]
        assert sorted(names) == ["First", "Second"]

