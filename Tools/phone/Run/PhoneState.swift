import Contracts
import FoundationEssentials

/// What the phone's operating system knows: the token it was issued and the last push it got.
struct PhoneState: Codable, Sendable {
    var token: DeviceToken
    var environment: APNsEnvironment
    /// The simulator's number of the last push; asked for again after a break.
    var lastPush: Int64?

    enum CodingKeys: String, CodingKey {
        case token
        case environment
        case lastPush = "last_push"
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
