"""The CryptoKit side of the phone's cryptography, type-checked where there is no CryptoKit.

A stand-in declares what the seam calls, with the signatures that Apple documents, and no bodies that
do anything. That shows that the other side of the seam is well formed; it was never run here.
"""

import shutil
import subprocess

STAND_IN = """
@_exported import Foundation

public struct SHA256Digest: Sequence {
    public func makeIterator() -> Array<UInt8>.Iterator { [UInt8]().makeIterator() }
}

public struct SHA256 {
    public static func hash<D: DataProtocol>(data: D) -> SHA256Digest { SHA256Digest() }
}

public struct SymmetricKey {
    public init<D: ContiguousBytes>(data: D) {}
}

public enum AES {
    public enum GCM {
        public struct Nonce {
            public init<D: DataProtocol>(data: D) throws {}
        }

        public struct SealedBox {
            public init<C: DataProtocol, T: DataProtocol>(
                nonce: AES.GCM.Nonce, ciphertext: C, tag: T
            ) throws {}
        }

        public static func open<AuthenticatedData: DataProtocol>(
            _ sealedBox: SealedBox, using key: SymmetricKey, authenticating: AuthenticatedData
        ) throws -> Data { Data() }
    }
}
"""


def swiftc(folder, *words) -> subprocess.CompletedProcess:
    compiler = shutil.which("swiftc")
    assert compiler, "swiftc is not in PATH"
    return subprocess.run(
        [compiler, "-swift-version", "6", "-module-cache-path", str(folder / "cache"), *words],
        cwd=folder, capture_output=True, text=True, timeout=240,
    )


def test_the_cryptokit_side_is_well_formed(root, tmp_path):
    (tmp_path / "StandIn.swift").write_text(STAND_IN)
    module = swiftc(
        tmp_path, "-emit-module", "-module-name", "CryptoKit", "-parse-as-library",
        "StandIn.swift", "-o", "CryptoKit.swiftmodule",
    )
    assert module.returncode == 0, module.stderr
    seam = root / "Shared/PushBusDevice/Crypto/DeviceCrypto.swift"
    check = ("-typecheck", "-warnings-as-errors", "-I", str(tmp_path))
    result = swiftc(tmp_path, *check, str(seam))
    assert result.returncode == 0, result.stderr

    # It was that side which was looked at: a call that CryptoKit does not have is found.
    wrong = tmp_path / "Wrong.swift"
    wrong.write_text(seam.read_text().replace("AES.GCM.Nonce(data:", "AES.GCM.Nonce(bytes:"))
    assert "bytes:" in swiftc(tmp_path, *check, str(wrong)).stderr
