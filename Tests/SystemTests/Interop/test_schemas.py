"""The JSON Schemas, the golden JSON and the golden MessagePack files agree with each other.

Public libraries judge here, so that a mistake shared by our encoder and decoder shows.
"""

import base64
import json
import pathlib

import jsonschema
import msgpack
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMAS = ROOT / "Shared/Contracts/Schemas"
GOLDEN = ROOT / "Tests/ContractsTests/Golden"
TYPES = sorted(p.name.removesuffix(".json") for p in GOLDEN.glob("*.json"))
PACKED = sorted(p.name.removesuffix(".msgpack") for p in GOLDEN.glob("*.msgpack"))

# The words that draft-07 and 2020-12 read alike (the common subset of both).
COMMON = {
    "$schema", "title", "description", "type", "properties", "required", "items", "enum", "const",
    "pattern", "minimum", "maximum", "minLength", "maxLength", "maxItems", "oneOf",
    "additionalProperties", "contentEncoding",
}


def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def test_there_are_goldens():
    assert len(TYPES) > 25 and len(PACKED) >= 8


@pytest.mark.parametrize("name", sorted(p.stem for p in SCHEMAS.glob("*.json")))
def test_schema_is_valid_in_both_drafts(name):
    document = schema(name)
    jsonschema.Draft7Validator.check_schema(document)
    jsonschema.Draft202012Validator.check_schema(
        {**document, "$schema": "https://json-schema.org/draft/2020-12/schema"}
    )

    def walk(node):
        for word, value in node.items():
            assert word in COMMON, f"{word} is not in the common subset"
            if word == "properties":
                for member in value.values():
                    walk(member)
            elif word in ("items", "additionalProperties"):
                walk(value)
            elif word == "oneOf":
                for member in value:
                    walk(member)

    walk(document)


@pytest.mark.parametrize("name", TYPES)
def test_golden_json_fits_its_schema(name):
    jsonschema.Draft7Validator(schema(name)).validate(
        json.loads((GOLDEN / f"{name}.json").read_text())
    )


@pytest.mark.parametrize("name", TYPES)
def test_schema_refuses_a_golden_without_a_required_field(name):
    validator = jsonschema.Draft7Validator(schema(name))
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    for field in schema(name).get("required", []):
        broken = {k: v for k, v in golden.items() if k != field}
        assert not validator.is_valid(broken), f"{name} without {field} passed"


@pytest.mark.parametrize("name", TYPES)
def test_schema_describes_every_field_of_the_golden(name):
    """A field that the schema does not name would be an undocumented one."""

    def walk(document, value, where):
        if "oneOf" in document and "properties" not in document:
            document = next(
                d for d in document["oneOf"] if jsonschema.Draft7Validator(d).is_valid(value)
            )
        if isinstance(value, dict) and "properties" in document:
            for key, member in value.items():
                assert key in document["properties"], f"{where}/{key} is not in the schema"
                walk(document["properties"][key], member, f"{where}/{key}")
        elif isinstance(value, list) and "items" in document:
            for index, member in enumerate(value):
                walk(document["items"], member, f"{where}/{index}")

    walk(schema(name), json.loads((GOLDEN / f"{name}.json").read_text()), name)


@pytest.mark.parametrize("name", PACKED)
def test_golden_msgpack_is_the_same_value(name):
    """MessagePack carries the same fields; bytes are bin instead of base64."""

    def plain(value):
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        if isinstance(value, list):
            return [plain(v) for v in value]
        return value

    packed = msgpack.unpackb((GOLDEN / f"{name}.msgpack").read_bytes(), raw=False)
    assert plain(packed) == json.loads((GOLDEN / f"{name}.json").read_text())
