"""Where the tests find the project and its built commands."""

import os
import pathlib

import pytest

from pushbus_house import House

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    return ROOT


@pytest.fixture(scope="session")
def commands() -> pathlib.Path:
    """The folder of the built commands, from PUSHBUS_BIN_DIR; script/test sets it."""
    folder = os.environ.get("PUSHBUS_BIN_DIR")
    assert folder, "set PUSHBUS_BIN_DIR to the folder that `swift build --show-bin-path` prints"
    path = pathlib.Path(folder)
    assert (path / "pushbus").exists(), f"no pushbus command in {path}: run swift build first"
    return path


@pytest.fixture
def house(commands):
    """Four services with stores of their own, stopped at the end."""
    house = House(commands)
    yield house
    house.close()
