"""The description of the bus is AsyncAPI 3, and every schema in it is one.

Public tools judge: asyncapi3 holds the document against its model of AsyncAPI 3, referencing follows the
references, and check-jsonschema holds the schemas against their metaschema.
"""

import copy
import functools
import pathlib
import subprocess
import sys
import warnings

import pydantic
import pytest
import referencing
import referencing.jsonschema
import yaml

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Two of its models have a field named schema.
    from asyncapi3.models import AsyncAPI3

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONTRACTS = ROOT / "Shared/Contracts"
GOLDEN = ROOT / "Tests/ContractsTests/Golden"
SCHEMAS = sorted((CONTRACTS / "Schemas").glob("*.json"))
TYPES = {path.stem for path in SCHEMAS} - {"header"}
BASE = CONTRACTS.as_uri() + "/asyncapi.yaml"


@pytest.fixture(scope="module")
def document() -> dict:
    return yaml.safe_load((CONTRACTS / "asyncapi.yaml").read_text())


@functools.cache
def retrieve(uri: str) -> referencing.Resource:
    contents = yaml.safe_load(pathlib.Path(uri.removeprefix("file://")).read_text())
    return referencing.Resource(contents, referencing.jsonschema.DRAFT7)


@pytest.fixture(scope="module")
def resolver():
    return referencing.Registry(retrieve=retrieve).resolver(BASE)


def references(node):
    """Every value of `$ref` in the document."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for member in node.values():
            yield from references(member)
    elif isinstance(node, list):
        for member in node:
            yield from references(member)


def test_the_document_is_asyncapi_3(document):
    read = AsyncAPI3.model_validate(document)
    assert read.asyncapi == "3.0.0"
    assert len(document["channels"]) == 5


@pytest.mark.parametrize(
    "path",
    [
        ("operations", "event-publish", "action"),
        ("operations", "event-publish", "unheard"),
        ("components", "messages", "reject-v1", "contentType"),
        ("channels", "relay", "address"),
    ],
)
def test_the_model_refuses_what_is_not(document, path):
    broken = copy.deepcopy(document)
    node = broken
    for word in path[:-1]:
        node = node[word]
    node[path[-1]] = ["not", "this"]
    with pytest.raises(pydantic.ValidationError):
        AsyncAPI3.model_validate(broken)


def test_every_reference_leads_somewhere(document, resolver):
    found = list(references(document))
    assert len(found) > 5 * len(TYPES)
    for reference in found:
        assert isinstance(resolver.lookup(reference).contents, dict), reference
    with pytest.raises(referencing.exceptions.Unresolvable):
        resolver.lookup("#/components/messages/unheard-v1")


def test_every_message_is_described_once(document, resolver):
    messages = document["components"]["messages"]
    assert {message["name"] for message in messages.values()} == TYPES
    packed = {path.stem for path in GOLDEN.glob("*.msgpack")}
    for key, message in messages.items():
        name = message["name"]
        assert key == name.replace(".", "-")
        assert resolver.lookup(message["payload"]["$ref"]).contents["title"] == name
        assert resolver.lookup(message["headers"]["$ref"]).contents["title"] == "header"
        assert message.get("x-msgpack", False) == (name in packed)


def test_every_message_belongs_to_an_operation(document):
    """What a channel carries is asked for or answered by its operations, and nothing else."""
    carried = {
        f"#/channels/{channel}/messages/{key}"
        for channel, description in document["channels"].items()
        for key in description["messages"]
    }
    used = set()
    for name, operation in document["operations"].items():
        channel = operation["channel"]["$ref"]
        assert operation["reply"]["channel"]["$ref"] == channel, name
        both = operation["messages"] + operation["reply"]["messages"]
        for message in both:
            assert message["$ref"].startswith(channel + "/messages/"), name
        used.update(message["$ref"] for message in both)
    assert used == carried


def test_the_schemas_keep_to_their_metaschema(tmp_path):
    tool = pathlib.Path(sys.executable).with_name("check-jsonschema")

    def check(*files: pathlib.Path) -> subprocess.CompletedProcess:
        return subprocess.run(
            [str(tool), "--check-metaschema", *map(str, files)],
            capture_output=True, text=True, timeout=110,
        )

    run = check(*SCHEMAS)
    assert run.returncode == 0, run.stdout + run.stderr
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"$schema": "http://json-schema.org/draft-07/schema#", "type": "text"}')
    assert check(wrong).returncode == 1
