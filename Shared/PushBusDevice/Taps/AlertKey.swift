import Contracts

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What an alert key names: one cycle of one rule on one server.
package struct AlertKey: Codable, Hashable, Sendable {
    package var rule: String
    package var server: String
    /// The dimension, empty when the rule has none.
    package var sourceAddress: String
    /// When the cycle began, as the producer wrote it.
    package var startedAt: String

    package init(rule: String, server: String, sourceAddress: String, startedAt: String) {
        self.rule = rule
        self.server = server
        self.sourceAddress = sourceAddress
        self.startedAt = startedAt
    }

    enum CodingKeys: String, CodingKey {
        case rule
        case server
        case sourceAddress = "source_address"
        case startedAt = "started_at"
    }

    /// Rule, server and dimension without the cycle.
    package var subject: [String] { [rule, server, sourceAddress] }

    /// Reads `v1.` and base64 of a JSON array of four strings; padding may be missing.
    package init?(_ text: String) {
        guard text.hasPrefix("v1.") else { return nil }
        var base64 = String(text.dropFirst(3))
        while !base64.utf8.count.isMultiple(of: 4) { base64.append("=") }
        guard
            let bytes = Data(base64Encoded: base64),
            let parts = try? JSONDecoder().decode([String].self, from: bytes),
            parts.count == 4
        else { return nil }
        self.init(rule: parts[0], server: parts[1], sourceAddress: parts[2], startedAt: parts[3])
    }
}
