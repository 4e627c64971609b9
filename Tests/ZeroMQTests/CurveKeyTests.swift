import Glibc
import TestKit
import Testing
import ZeroMQ

@Suite struct CurveKeyTests {
    @Test func theVectorOfRFC32IsUnderstood() throws {
        // ZeroMQ's published example key pair of the CURVE documentation.
        let secret = try #require(CurveSecretKey(z85: "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"))
        let pair = try #require(CurveKeyPair(secret: secret))
        #expect(pair.publicKey.z85 == "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID")
    }

    @Test(arguments: [
        "", "short", String(repeating: "~", count: 40), String(repeating: "é", count: 20),
        String(repeating: "a", count: 41), String(repeating: "\u{7f}", count: 40),
    ])
    func badTextIsNoKey(_ text: String) {
        #expect(CurvePublicKey(z85: text) == nil)
        #expect(CurveSecretKey(z85: text) == nil)
    }

    @Test func keyFilesKeepBothHalvesAndTheirSecret() throws {
        let directory = try TemporaryDirectory()
        let keys = try CurveKeyPair.generate()
        let path = directory.file("service.key")
        try CurveKeyFile.write(keys, to: path)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        let read = try CurveKeyFile.readSecret(path)
        #expect(read.publicKey == keys.publicKey)
        #expect(read.secret.z85 == keys.secret.z85)
        #expect(try CurveKeyFile.readPublic("\(path).pub") == keys.publicKey)
        #expect(throws: ZeroMQError.self) { try CurveKeyFile.readSecret("\(path).pub") }
        #expect(throws: ZeroMQError.self) { try CurveKeyFile.write(keys, to: path) }
        chmod(path, 0o644)
        #expect {
            try CurveKeyFile.readSecret(path)
        } throws: { error in
            "\(error)".contains("chmod 600")
        }
    }

    @Test func aSecretKeyShowsNothing() throws {
        let keys = try CurveKeyPair.generate()
        var shown = "\(keys.secret) \(String(reflecting: keys.secret)) \(keys)"
        dump(keys, to: &shown)
        #expect(!shown.contains(keys.secret.z85))
    }
}
