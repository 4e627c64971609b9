/// Which servers something is about.
package struct Coverage: Codable, Hashable, Sendable {
    package enum Mode: String, Codable, CaseIterable, Sendable {
        case all
        /// The named servers alone.
        case include
        /// All but the named servers.
        case exclude
    }

    package var mode: Mode
    /// Ids of servers; empty for `all`.
    package var servers: [String]

    package static let all = Self(.all, [])

    package init(_ mode: Mode, _ servers: [String]) {
        self.mode = mode
        self.servers = servers
    }

    package func covers(_ server: String) -> Bool {
        switch mode {
        case .all: true
        case .include: servers.contains(server)
        case .exclude: !servers.contains(server)
        }
    }

    package func check(_ pointer: String) throws(ContractViolation) {
        try ContractViolation.check(
            mode == .all ? servers.isEmpty : (1...1000).contains(servers.count),
            pointer + "/servers",
            "must name 1 to 1000 servers, and none for all"
        )
        try PolicyBounds.identifiers(servers, pointer + "/servers")
    }
}

/// Bounds that all parts of the policy share.
enum PolicyBounds {
    static func identifier(_ text: String, _ pointer: String) throws(ContractViolation) {
        try ContractViolation.check(
            TextIdentifier<PolicyTag>(text).isWellFormed,
            pointer,
            "must be 1 to 512 bytes without control characters"
        )
    }

    static func identifiers(_ list: [String], _ pointer: String) throws(ContractViolation) {
        for (index, text) in list.enumerated() { try identifier(text, "\(pointer)/\(index)") }
    }

    private enum PolicyTag {}
}
