"""The APNs simulator and a Relay in front of it, as real processes in a folder of their own."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request

from pushbus_peer import Service, select_a_little


class SimulatedAPNs:
    """The simulator, its files and its control API."""

    def __init__(self, commands: pathlib.Path):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pushbus-apns-"))
        self.folder.chmod(0o700)
        self.commands = commands
        self.log = open(self.folder / "simulator.log", "ab")
        self.relay: Service | None = None
        ready = self.folder / "apns.ready"
        self.process = subprocess.Popen(
            [str(commands / "apns-simulator")],
            env={
                "PATH": os.environ["PATH"],
                "PUSHBUS_SIMULATOR_DIRECTORY": str(self.folder / "apns"),
                "PUSHBUS_SIMULATOR_READY_FILE": str(ready),
            },
            stderr=self.log,
        )
        deadline = time.monotonic() + 30
        while not ready.exists():
            assert self.process.poll() is None, "the simulator ended"
            assert time.monotonic() < deadline, "the simulator is not ready"
            select_a_little()
        self.ports = json.loads(ready.read_text())
        self.credentials = json.loads(self.file("credentials.json").read_text())

    def file(self, name: str) -> pathlib.Path:
        return self.folder / "apns" / name

    def control(self, method: str, path: str, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports['http']}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
        )
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read() or b"null")

    def start_relay(self, **environment: str) -> str:
        """Starts a Relay without a bus endpoint and gives its URL."""
        self.relay = Service(
            self.commands,
            "relay",
            {
                "HTTP": "127.0.0.1:0",
                "APNS_TEAM_ID": self.credentials["team_id"],
                "APNS_KEY_ID": self.credentials["key_id"],
                "APNS_KEY_FILE": str(self.file("apns-key.p8")),
                "APNS_TOPIC": "app.example",
                "APNS_CA_FILE": str(self.file("ca.pem")),
                "APNS_SANDBOX_ORIGIN": f"localhost:{self.ports['sandbox']}",
                "APNS_PRODUCTION_ORIGIN": f"localhost:{self.ports['production']}",
                **environment,
            },
            self.folder,
        )
        return f"http://127.0.0.1:{self.relay.wait_ready()['http']}"

    def close(self):
        code = self.relay.stop() if self.relay else 0
        self.process.terminate()
        ended = self.process.wait(timeout=30)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert (code, ended) == (0, 0), "exit codes"
