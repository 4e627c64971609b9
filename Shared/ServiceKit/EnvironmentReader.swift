/// Reads the settings of a process from its environment.
///
/// Each call declares one setting and reads it. A bad value is recorded and a stand-in returned, so
/// that `finish()` can report all bad values, and all unknown variables, together. Names are given
/// without the prefix; a name that starts with `PUSHBUS_` is taken as it is. An empty value counts
/// as not set.
package struct EnvironmentReader: Sendable {
    struct Setting: Sendable {
        var variable: String
        var help: String
        var fallback: String?
        var required: Bool
        var shown: String
    }

    /// The start of every variable of this process, `PUSHBUS_DELIVERY_`.
    package let prefix: String
    private let values: [String: String]
    private let onlyDeclares: Bool
    private(set) var settings: [Setting] = []
    private var problems: [ConfigurationErrors.Problem] = []
    /// Whether `finish()` was called.
    private(set) var isFinished = false
    /// Makes `finish()` throw even if nothing is wrong: for `--print-config`.
    var endsAtFinish = false

    /// Reads from the given variables.
    package init(prefix: String, values: [String: String]) {
        self.init(prefix: prefix, values: values, onlyDeclares: false)
    }

    /// With `onlyDeclares` nothing is wrong, and `finish()` always throws: for `--help`.
    init(prefix: String, values: [String: String], onlyDeclares: Bool) {
        self.prefix = prefix
        self.values = values
        self.onlyDeclares = onlyDeclares
    }

    /// Text; required when there is no default.
    package mutating func string(_ name: String, default: String? = nil, help: String) -> String {
        let raw = read(name, fallback: `default`, required: `default` == nil, help: help)
        return raw ?? `default` ?? ""
    }

    /// Text that may be left out.
    package mutating func optionalString(_ name: String, help: String) -> String? {
        read(name, fallback: nil, required: false, help: help)
    }

    /// A whole number within a range; required when there is no default.
    package mutating func int(
        _ name: String,
        default: Int? = nil,
        in range: ClosedRange<Int>,
        help: String
    ) -> Int {
        let help = "\(help) (\(range.lowerBound) to \(range.upperBound))"
        let fallback = `default`.map(String.init)
        let raw = read(name, fallback: fallback, required: `default` == nil, help: help)
        return accept(name, raw, standIn: `default` ?? range.lowerBound) { raw in
            guard let number = Int(raw), range.contains(number) else {
                throw SettingError(
                    "has to be a whole number from \(range.lowerBound) to \(range.upperBound)"
                )
            }
            return number
        }
    }

    /// A time: a number with `ms`, `s`, `m` or `h`; plain numbers are seconds.
    package mutating func duration(
        _ name: String,
        default: Duration,
        in range: ClosedRange<Duration>,
        help: String
    ) -> Duration {
        let bounds = "\(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))"
        let fallback = Self.text(`default`)
        let raw = read(name, fallback: fallback, required: false, help: "\(help) (\(bounds))")
        return accept(name, raw, standIn: `default`) { raw in
            guard let duration = Self.duration(raw), range.contains(duration) else {
                throw SettingError("has to be a time from \(bounds), such as 500ms, 2s, 5m or 1h")
            }
            return duration
        }
    }

    /// `true` or `false`, also as `yes` and `no` or `1` and `0`.
    package mutating func bool(_ name: String, default: Bool, help: String) -> Bool {
        let raw = read(name, fallback: `default` ? "true" : "false", required: false, help: help)
        return accept(name, raw, standIn: `default`) { raw in
            switch raw.lowercased() {
            case "true", "yes", "1": return true
            case "false", "no", "0": return false
            default: throw SettingError("has to be true or false")
            }
        }
    }

    /// An absolute path; required when there is no default. Whether it exists is not looked at.
    package mutating func path(_ name: String, default: String? = nil, help: String) -> String {
        let raw = read(name, fallback: `default`, required: `default` == nil, help: help)
        return accept(name, raw, standIn: `default` ?? "/", parse: Self.absolutePath)
    }

    /// An absolute path that may be left out.
    package mutating func optionalPath(_ name: String, help: String) -> String? {
        let raw = read(name, fallback: nil, required: false, help: help)
        return accept(name, raw, standIn: nil, parse: Self.absolutePath)
    }

    /// A value with a parser of its own and a default, which the parser must accept.
    ///
    /// What the parser throws becomes the message, so it should say what is accepted.
    package mutating func value<Value>(
        _ name: String,
        default: String,
        help: String,
        parse: (String) throws -> Value
    ) -> Value {
        let standIn: Value
        do {
            standIn = try parse(`default`)
        } catch {
            preconditionFailure("the default of \(name) is not accepted: \(error)")
        }
        let raw = read(name, fallback: `default`, required: false, help: help)
        return accept(name, raw, standIn: standIn, parse: parse)
    }

    /// A required value with a parser of its own; nil when it is missing or bad, which `finish()`
    /// then reports.
    package mutating func requiredValue<Value>(
        _ name: String,
        help: String,
        parse: (String) throws -> Value
    ) -> Value? {
        let raw = read(name, fallback: nil, required: true, help: help)
        return accept(name, raw, standIn: nil, parse: parse)
    }

    /// A value with a parser of its own that may be left out.
    package mutating func optionalValue<Value>(
        _ name: String,
        help: String,
        parse: (String) throws -> Value
    ) -> Value? {
        let raw = read(name, fallback: nil, required: false, help: help)
        return accept(name, raw, standIn: nil, parse: parse)
    }

    /// Secret text, either in the variable itself or in the file that `<name>_FILE` names.
    ///
    /// One newline at the end of the file is dropped. Neither is ever printed.
    package mutating func secret(_ name: String, required: Bool = false, help: String) -> Secret? {
        let variable = full(name)
        let fileVariable = variable + "_FILE"
        let direct = present(variable)
        let file = present(fileVariable)
        declare(variable, help, nil, required, shown: direct == nil ? "" : "‹redacted›")
        declare(fileVariable, "file that holds \(variable)", nil, false, shown: file ?? "")
        switch (direct, file) {
        case (.some, .some):
            report(variable, "is set twice; leave out either \(variable) or \(fileVariable)")
            return nil
        case (.some(let text), nil): return Secret(Array(text.utf8))
        case (nil, .some(let path)):
            do {
                return try SecretFile.read(path)
            } catch {
                report(fileVariable, error.description)
                return nil
            }
        case (nil, nil):
            if required { report(variable, "is required: \(help)") }
            return nil
        }
    }

    /// A required value of which a part is secret, either in the variable itself or in the file that
    /// `<name>_FILE` names; `shown` is what may be printed of it, and errors of `parse` quote nothing.
    package mutating func requiredValue<Value>(
        orFile name: String,
        help: String,
        parse: (String) throws -> Value,
        shown: (Value) -> String
    ) -> Value? {
        guard let text = secret(name, required: true, help: help) else { return nil }
        let raw = text.withBytes { String(decoding: $0, as: UTF8.self) }
        let value: Value? = accept(name, raw, standIn: nil, parse: parse)
        let variable = full(name)
        if let value, let index = settings.firstIndex(where: { $0.variable == variable }),
            present(variable) != nil
        {
            settings[index].shown = shown(value)
        }
        return value
    }

    /// Records a problem that only shows when settings are looked at together.
    package mutating func reject(_ name: String, _ message: String) {
        report(full(name), message)
    }

    /// Throws all bad values and all unknown variables of this prefix, if there are any.
    package mutating func finish() throws(ConfigurationErrors) {
        isFinished = true
        let known = Set(settings.map(\.variable))
        for variable in values.keys.sorted()
        where variable.hasPrefix(prefix) && !known.contains(variable) {
            let near = EditDistance.nearest(to: variable, in: known)
            let advice = near.map { "; did you mean \($0)?" } ?? "; --help lists all settings"
            report(variable, "is not a setting\(advice)")
        }
        if onlyDeclares || endsAtFinish || !problems.isEmpty {
            throw ConfigurationErrors(problems: problems)
        }
    }

    /// The list of all settings read so far, for `--help`.
    package func usage() -> String {
        settings.map { setting in
            let note =
                if setting.required {
                    " Required."
                } else if let fallback = setting.fallback, !fallback.isEmpty {
                    " Default: \(fallback)."
                } else {
                    ""
                }
            return "  \(setting.variable)\n      \(setting.help).\(note)\n"
        }.joined()
    }

    /// All settings with the values in force, secrets redacted, for `--print-config`.
    package func printed() -> String {
        settings.map { "\($0.variable)=\($0.shown)\n" }.joined()
    }

    // MARK: - Reading

    private func full(_ name: String) -> String {
        name.hasPrefix("PUSHBUS_") ? name : prefix + name
    }

    private func present(_ variable: String) -> String? {
        values[variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    private mutating func declare(
        _ variable: String,
        _ help: String,
        _ fallback: String?,
        _ required: Bool,
        shown: String
    ) {
        precondition(
            !settings.contains { $0.variable == variable },
            "\(variable) is declared twice"
        )
        settings.append(
            Setting(
                variable: variable,
                help: help,
                fallback: fallback,
                required: required,
                shown: shown
            )
        )
    }

    private mutating func read(
        _ name: String,
        fallback: String?,
        required: Bool,
        help: String
    ) -> String? {
        let variable = full(name)
        let value = present(variable)
        declare(variable, help, fallback, required, shown: value ?? fallback ?? "")
        if value == nil && required { report(variable, "is required: \(help)") }
        return value
    }

    private mutating func accept<Value>(
        _ name: String,
        _ raw: String?,
        standIn: Value,
        parse: (String) throws -> Value
    ) -> Value {
        guard let raw else { return standIn }
        do {
            return try parse(raw)
        } catch {
            report(full(name), "\(error)")
            return standIn
        }
    }

    private mutating func report(_ variable: String, _ message: String) {
        if !onlyDeclares {
            problems.append(.init(variable: variable, message: message))
        }
    }
}
