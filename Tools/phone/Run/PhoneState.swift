import Contracts
import FoundationEssentials

/// What the phone's operating system knows: the token it was issued and the last push it got.
struct PhoneState: Codable, Sendable {
    var token: DeviceToken
    var environment: APNsEnvironment
    /// The simulator's number of the last push; asked for again after a break.
    var lastPush: Int64?
    /// The run of the simulator that gave this number.
    var simulatorRun: String?

    enum CodingKeys: String, CodingKey {
        case token
        case environment
        case lastPush = "last_push"
        case simulatorRun = "simulator_run"
    }

    /// Notes the run that it listens to, and returns the number after which pushes may be missing; nil
    /// for a phone that never listened before. A simulator that was restarted numbers anew.
    mutating func resume(in run: String?) -> Int64? {
        defer { simulatorRun = run ?? simulatorRun }
        guard let run, let known = simulatorRun, known != run else { return lastPush }
        lastPush = 0
        return 0
    }

    private static let file = "phone"

    static func load(_ store: FileStore) throws -> Self? {
        guard let bytes = try store.read(file) else { return nil }
        return try JSONDecoder().decode(Self.self, from: Data(bytes))
    }

    func save(_ store: FileStore) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try store.write([UInt8](try encoder.encode(self)), Self.file)
    }
}
