import Contracts

/// The members of a request body, of which every one has to be read and none may be left over.
struct RequestFields {
    private let members: [String: StrictJSON]
    private let prefix: String

    /// Reads a JSON object that has exactly the given members.
    init(parsing body: [UInt8], exactly names: Set<String>) throws(RequestProblem) {
        let value: StrictJSON
        do {
            value = try StrictJSON(parsing: body, depth: 4)
        } catch {
            throw .invalid("The body is \(error).")
        }
        try self.init(value, exactly: names, prefix: "")
    }

    /// Reads a JSON object that has the members of one of the forms, and says which.
    static func parse(
        _ body: [UInt8],
        asOneOf forms: [Set<String>]
    ) throws(RequestProblem) -> (fields: Self, form: Int) {
        let value: StrictJSON
        do {
            value = try StrictJSON(parsing: body, depth: 4)
        } catch {
            throw .invalid("The body is \(error).")
        }
        let names = Set((value.members ?? [:]).keys)
        let form = forms.firstIndex(of: names) ?? 0
        return (try Self(value, exactly: forms[form], prefix: ""), form)
    }

    private init(
        _ value: StrictJSON,
        exactly names: Set<String>,
        prefix: String
    ) throws(RequestProblem) {
        guard let members = value.members else {
            throw .invalid("\(prefix.isEmpty ? "The body" : prefix) must be a JSON object.")
        }
        for name in names.sorted() where members[name] == nil {
            throw .invalid("\(prefix)\(name) is missing.")
        }
        guard members.count == names.count else {
            let allowed = names.sorted().joined(separator: ", ")
            throw .invalid("Only these fields are accepted: \(allowed).")
        }
        self.members = members
        self.prefix = prefix
    }

    func object(_ name: String, exactly names: Set<String>) throws(RequestProblem) -> Self {
        try Self(members[name] ?? .null, exactly: names, prefix: "\(name).")
    }

    func flag(_ name: String) throws(RequestProblem) -> Bool {
        guard let flag = members[name]?.flag else { throw problem(name, "must be true or false") }
        return flag
    }

    /// Text of a number of characters within the range, without control characters. A character is a
    /// Unicode code point, as in JSON Schema.
    func text(
        _ name: String,
        characters range: ClosedRange<Int>
    ) throws(RequestProblem) -> String {
        guard let text = members[name]?.text,
            range.contains(text.unicodeScalars.count),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            throw problem(
                name,
                "must be text of \(range.lowerBound) to \(range.upperBound) characters"
            )
        }
        return text
    }

    /// A secret, of which the control characters are its own business.
    func password(
        _ name: String,
        characters range: ClosedRange<Int>
    ) throws(RequestProblem) -> Password {
        guard let text = members[name]?.text, range.contains(text.unicodeScalars.count) else {
            throw problem(
                name,
                "must be text of \(range.lowerBound) to \(range.upperBound) characters"
            )
        }
        return Password(text)
    }

    func revision(_ name: String) throws(RequestProblem) -> Int64 {
        guard let number = members[name]?.safeInteger, number >= 0 else {
            throw problem(name, "must be a whole number from 0")
        }
        return number
    }

    func uuid<Tag>(_ name: String) throws(RequestProblem) -> UUIDIdentifier<Tag> {
        guard let text = members[name]?.text, let value = UUIDIdentifier<Tag>(text) else {
            throw problem(name, "must be a lowercase UUID")
        }
        return value
    }

    func installation(_ name: String) throws(RequestProblem) -> InstallationID {
        guard let text = members[name]?.text, (1...128).contains(text.utf8.count),
            text.utf8.allSatisfy(Self.isIdentifierByte)
        else {
            throw problem(name, "must be 1 to 128 letters, digits or . _ : -")
        }
        return InstallationID(text)
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String
    ) throws(RequestProblem) -> Choice {
        guard let text = members[name]?.text, let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: " or ")
            throw problem(name, "must be \(words)")
        }
        return choice
    }

    func problem(_ name: String, _ rule: String) -> RequestProblem {
        .invalid("\(prefix)\(name) \(rule).")
    }

    private static func isIdentifierByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
