import Contracts
import FoundationEssentials
import Glibc
import HTTPClient
import Loop
import PushBusCrypto

/// What the simulator hands to a sender.
struct SimulatorCredentials: Decodable, Sendable {
    var key_id: String
    var team_id: String
    var key_file: String

    init(folder: String) throws {
        let data = try Data(contentsOf: URL(filePath: "\(folder)/credentials.json"))
        self = try JSONDecoder().decode(Self.self, from: data)
    }

    /// A provider token that is valid for the next half hour.
    func providerToken() throws -> String {
        let pem = SecretBytes(Array(try Data(contentsOf: URL(filePath: key_file))))
        return try ProviderToken.sign(
            key: try ES256PrivateKey(pem: pem),
            keyID: key_id,
            teamID: team_id,
            issuedAtSeconds: Int64(time(nil))
        ).compact
    }
}

/// The simulator's control interface, as far as the benchmarks use it.
struct SimulatorControl: Sendable {
    let http: HTTPClient
    let controlPort: UInt16
    let sandboxPort: UInt16
    let credentials: SimulatorCredentials

    private struct Statistics: Decodable {
        var answers: [String: Int]
    }

    /// How many requests were answered 200 since it started.
    func accepted() async throws -> Int {
        let statistics = try await get("/statistics", as: Statistics.self)
        let refused = statistics.answers.filter { $0.key != "200" }
        guard refused.isEmpty else { throw BenchFailure("the simulator answered \(refused)") }
        return statistics.answers["200"] ?? 0
    }

    /// Returns at the first look that sees that many; looks every few milliseconds.
    func wait(forAccepted count: Int, within limit: Duration = .seconds(300)) async throws {
        let start = ContinuousClock.now
        while true {
            let now = try await accepted()
            if now >= count { return }
            guard ContinuousClock.now - start < limit else {
                throw BenchFailure("only \(now) of \(count) pushes were accepted in \(limit)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// The payload that a token received last.
    func lastPayload(of token: DeviceToken) async throws -> [UInt8] {
        struct Received: Decodable {
            struct Notification: Decodable { var payload: String }
            var received: [Notification]
        }
        let found = try await get("/tokens/\(token.hex)/received", as: Received.self)
        guard let last = found.received.last else {
            throw BenchFailure("the token received nothing")
        }
        return Array(last.payload.utf8)
    }

    /// Tells each arrival at a token with the clock's reading, until it returns false.
    func listen(
        to token: DeviceToken,
        _ arrived: @escaping @Sendable (Arrival) -> Bool
    ) async throws {
        _ = try await http.stream(
            HTTPClientRequest(method: "GET", url: url("/tokens/\(token.hex)/stream"))
        ) { chunk in
            let now = ContinuousClock.now
            let text = String(decoding: chunk, as: UTF8.self)
            for line in text.split(separator: "\n") where line.hasPrefix("event: ") {
                let kind: Arrival = line.hasSuffix("listening") ? .listening : .push(now)
                guard arrived(kind) else { return false }
            }
            return true
        }
    }

    enum Arrival: Sendable {
        case listening
        case push(ContinuousClock.Instant)
    }

    private func url(_ path: String) -> String { "http://127.0.0.1:\(controlPort)\(path)" }

    private func get<Answer: Decodable>(_ path: String, as type: Answer.Type) async throws -> Answer
    {
        let reply = try await http.send(
            HTTPClientRequest(
                method: "GET",
                url: url(path),
                timeout: .seconds(30),
                maximumReplyBytes: 64 << 20
            )
        )
        guard reply.status == 200 else {
            throw BenchFailure("the simulator answered \(reply.status) to \(path)")
        }
        return try JSONDecoder().decode(type, from: Data(reply.body))
    }
}
