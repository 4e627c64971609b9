"""Envelope v1 written from its description alone, to check the Swift implementation against."""

import base64
import hashlib
import json

from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def compact(value):
    """JSON without spaces, without slash escaping and with text as UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def identity(content):
    parts = [content["deployment_id"], content["user_id"], content["installation_id"]]
    return hashlib.sha256(compact(parts)).hexdigest()


def associated_data(key_id, identity_text):
    return b"|".join([b"ServerBee.Push.v1", key_id.encode(), identity_text.encode()])


def seal(key, key_id, nonce, content):
    name = identity(content)
    sealed = AESGCM(key).encrypt(nonce, compact(content), associated_data(key_id, name))
    return {
        "version": 1,
        "key_id": key_id,
        "identity": name,
        "nonce": base64.b64encode(nonce).decode(),
        "ciphertext": base64.b64encode(sealed).decode(),
    }


def open_envelope(key, envelope):
    """The plaintext bytes; raises when anything does not match."""
    assert list(envelope) == ["version", "key_id", "identity", "nonce", "ciphertext"]
    assert envelope["version"] == 1
    nonce = base64.b64decode(envelope["nonce"], validate=True)
    sealed = base64.b64decode(envelope["ciphertext"], validate=True)
    assert len(nonce) == 12
    assert 16 <= len(sealed) <= 2070
    plaintext = AESGCM(key).decrypt(
        nonce, sealed, associated_data(envelope["key_id"], envelope["identity"])
    )
    assert len(plaintext) <= 2048
    assert identity(json.loads(plaintext)) == envelope["identity"]
    return plaintext
