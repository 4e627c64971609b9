"""A content key enters by one request of the phone and leaves by one answer of the bus."""

import json
import pathlib

import yaml

CONTRACTS = pathlib.Path(__file__).resolve().parents[3] / "Shared/Contracts"
KEY = "content_key"


def members(node, document, seen=frozenset()) -> set[str]:
    """The names of all members below a part of a document, references followed."""
    names = set()
    if isinstance(node, list):
        for item in node:
            names |= members(item, document, seen)
    if not isinstance(node, dict):
        return names
    reference = node.get("$ref")
    if reference and reference not in seen:
        target = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        names |= members(target, document, seen | {reference})
    for word, value in node.items():
        if word == "properties":
            names |= set(value)
        names |= members(value, document, seen)
    return names


def test_one_answer_of_the_bus_holds_keys():
    holders = set()
    for path in (CONTRACTS / "Schemas").glob("*.json"):
        document = json.loads(path.read_text())
        if KEY in members(document, document):
            holders.add(path.stem)
    assert holders == {"audience.page.answer.v1"}


def test_no_reply_over_http_holds_keys():
    entering = set()
    for path in sorted((CONTRACTS / "openapi").glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        for url, operations in document["paths"].items():
            for method, operation in operations.items():
                if not isinstance(operation, dict):
                    continue
                assert KEY not in members(operation.get("responses", {}), document)
                if KEY in members(operation.get("requestBody", {}), document):
                    entering.add((method, url))
    assert entering == {("post", "/api/mobile/push/encrypted-register")}
