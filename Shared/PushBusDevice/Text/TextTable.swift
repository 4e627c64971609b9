/// The texts of one language; `{name}` stands for a value.
package struct TextTable: Sendable {
    package let language: Language
    private let texts: [TextKey: String]

    package init(_ language: Language) {
        self.language = language
        texts =
            switch language {
            case .english: Self.english
            case .simplifiedChinese: Self.simplifiedChinese
            }
    }

    /// Whether the language has a text of its own for the key.
    package func contains(_ key: TextKey) -> Bool { texts[key] != nil }

    /// The text with its placeholders; English where the language has none.
    package subscript(_ key: TextKey) -> String {
        texts[key] ?? Self.english[key] ?? key.rawValue
    }

    /// The text with each `{name}` replaced. Values are taken as they are: a brace in a value is
    /// never looked at again.
    package func filled(_ key: TextKey, _ values: [String: String]) -> String {
        var filled = ""
        var rest = self[key][...]
        while let open = rest.firstIndex(of: "{"),
            let close = rest[open...].firstIndex(of: "}")
        {
            filled += rest[..<open]
            let name = String(rest[rest.index(after: open)..<close])
            filled += values[name] ?? "{\(name)}"
            rest = rest[rest.index(after: close)...]
        }
        return filled + rest
    }
}
