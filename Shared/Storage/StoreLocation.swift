import ServiceKit

/// Where a service keeps what it keeps.
package enum StoreLocation: Sendable, CustomStringConvertible {
    /// The absolute path of a file that this process owns alone.
    case sqlite(path: String)
    case postgresql(PostgreSQLURL)

    /// Reads `sqlite:/absolute/path` or a PostgreSQL URL; the error says what is accepted and quotes
    /// nothing, since the text may hold a password.
    package init(_ text: String) throws(SettingError) {
        if text.hasPrefix("postgresql:") || text.hasPrefix("postgres:") {
            do {
                self = .postgresql(try PostgreSQLURL(text))
            } catch {
                throw SettingError(error.message)
            }
            return
        }
        let scheme = "sqlite:"
        let path = String(text.dropFirst(scheme.count))
        guard text.hasPrefix(scheme), path.hasPrefix("/"), !path.hasSuffix("/") else {
            throw SettingError(
                "has to be sqlite:/absolute/path of a file, or postgresql://user@host/database"
            )
        }
        self = .sqlite(path: path)
    }

    /// Without password or parameters.
    package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        case .postgresql(let url): url.description
        }
    }
}

extension EnvironmentReader {
    /// The store, `<PREFIX>STORE` or the file that `<PREFIX>STORE_FILE` names; nil when it is missing or
    /// bad, which `finish()` then reports. What is printed of it has no password.
    package mutating func storeLocation(help: String) -> StoreLocation? {
        requiredValue(
            orFile: "STORE",
            help: "\(help): sqlite:/absolute/path, or postgresql://user:password@host/database",
            parse: StoreLocation.init,
            shown: \.description
        )
    }
}
