import CPostgreSQL
import ServiceKit

/// Where a PostgreSQL database is: `postgresql://user:password@host:port/name?sslmode=…` as libpq
/// takes it (postgresql.org/docs/15/libpq-connect.html, 34.1.1.2).
///
/// It may hold a password, so its description has none and errors never quote it.
package struct PostgreSQLURL: Sendable, CustomStringConvertible {
    /// The whole text, for libpq only.
    let secret: Secret
    /// User, host, port and database, without password or parameters.
    package let description: String

    private static let loopbackNames: Set<String> = ["localhost", "127.0.0.1", "::1"]

    /// Throws `misuse` with what is accepted.
    package init(_ text: String) throws(StorageError) {
        guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") else {
            throw Self.refused("has to be postgresql://user@host/database")
        }
        guard let found = Self.parse(text) else {
            throw Self.refused(
                "is no URL that libpq takes; special characters in user and password are written as %XX"
            )
        }
        let hosts = (found["host"] ?? "").split(separator: ",").map(String.init)
        let isLocal = hosts.allSatisfy { $0.hasPrefix("/") || Self.loopbackNames.contains($0) }
        let safeModes = ["disable", "require", "verify-ca", "verify-full"]
        if !isLocal && !safeModes.contains(found["sslmode"] ?? "") {
            throw Self.refused(
                "needs sslmode=verify-full with sslrootcert=/path for another host (require checks no "
                    + "certificate, disable declares that the network between is private)"
            )
        }
        secret = Secret(Array(text.utf8))
        let user = found["user"].map { $0 + "@" } ?? ""
        let port = found["port"].map { ":" + $0 } ?? ""
        description =
            "postgresql://\(user)\(hosts.joined(separator: ","))\(port)/\(found["dbname"] ?? "")"
    }

    /// The parts that are set, by libpq's names; nil for what libpq does not take.
    private static func parse(_ text: String) -> [String: String]? {
        // libpq's message quotes the URL, so it is not asked for.
        guard let options = PQconninfoParse(text, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var found: [String: String] = [:]
        var index = 0
        while let keyword = options[index].keyword {
            if let value = options[index].val, value.pointee != 0 {
                found[String(cString: keyword)] = String(cString: value)
            }
            index += 1
        }
        return found
    }

    private static func refused(_ advice: String) -> StorageError {
        StorageError(.misuse, "the database URL \(advice)")
    }
}
