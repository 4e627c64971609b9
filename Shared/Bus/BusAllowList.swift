import Contracts
import ZeroMQ

/// One key holder of a CURVE endpoint and what it may do.
package struct BusPrincipal: Hashable, Sendable {
    /// A list of names that may end in `*`; `*` alone allows everything.
    package struct Patterns: Hashable, Sendable {
        private let exact: Set<String>
        private let prefixes: [String]

        package init(_ patterns: [String]) {
            exact = Set(patterns.filter { !$0.hasSuffix("*") })
            prefixes = patterns.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
        }

        package static let everything = Patterns(["*"])

        package func allows(_ name: String) -> Bool {
            exact.contains(name) || prefixes.contains { name.hasPrefix($0) }
        }
    }

    package var name: String
    package var key: CurvePublicKey
    /// Message types it may send.
    package var types: Patterns
    /// CloudEvents sources it may publish.
    package var sources: Patterns

    package init(
        name: String,
        key: CurvePublicKey,
        types: Patterns = .everything,
        sources: Patterns = .everything
    ) {
        self.name = name
        self.key = key
        self.types = types
        self.sources = sources
    }
}

/// Who may connect to a CURVE endpoint.
package struct BusAllowList: Hashable, Sendable {
    private var byKey: [String: BusPrincipal] = [:]

    package init(_ principals: [BusPrincipal] = []) {
        for principal in principals { byKey[principal.key.z85] = principal }
    }

    package var isEmpty: Bool { byKey.isEmpty }
    package var principals: [BusPrincipal] { byKey.values.sorted { $0.name < $1.name } }

    package func principal(forKey z85: String) -> BusPrincipal? { byKey[z85] }

    /// Reads an allow-list: a line for each principal with name, public key (Z85), message types
    /// and sources, separated by spaces; the last two are comma lists or `*`. The types must be
    /// there, so that nobody gets all of them by a word left out; without sources it may use all.
    ///
    /// Lines that begin with `#` are comments. A bad line admits nobody and is reported.
    package static func parse(_ text: String) -> (list: BusAllowList, faults: [String]) {
        var principals: [BusPrincipal] = []
        var faults: [String] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" })
            guard let name = words.first, !name.hasPrefix("#") else { continue }
            guard (2...4).contains(words.count), let key = CurvePublicKey(z85: String(words[1]))
            else {
                faults.append("line \(index + 1) is not 'name key types [sources]'")
                continue
            }
            guard words.count > 2 else {
                faults.append(
                    "line \(index + 1) lists no message types for \(name); add them after the key,"
                        + " separated by commas, or * for all of them"
                )
                continue
            }
            if principals.contains(where: { $0.name == name || $0.key == key }) {
                faults.append("line \(index + 1) repeats a name or key")
                continue
            }
            func patterns(_ position: Int) -> BusPrincipal.Patterns {
                .init(words[position].split(separator: ",").map(String.init))
            }
            principals.append(
                BusPrincipal(
                    name: String(name),
                    key: key,
                    types: patterns(2),
                    sources: words.count > 3 ? patterns(3) : .everything
                )
            )
        }
        return (BusAllowList(principals), faults)
    }
}
