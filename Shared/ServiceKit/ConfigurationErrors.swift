/// Everything that is wrong with a process's settings, found in one go.
package struct ConfigurationErrors: Error, CustomStringConvertible {
    /// One bad, missing or unknown variable and what to do about it.
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        package let variable: String
        package let message: String

        package init(variable: String, message: String) {
            self.variable = variable
            self.message = message
        }

        package var description: String {
            "\(variable): \(message)"
        }
    }

    /// The problems in the order the settings were read; empty when only the list was asked for.
    package let problems: [Problem]

    package init(problems: [Problem]) {
        self.problems = problems
    }

    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}

/// A value that a setting does not accept; the message says what it does accept.
package struct SettingError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
