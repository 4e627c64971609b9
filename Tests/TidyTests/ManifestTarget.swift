/// A target as the manifest declares it through its own small functions.
struct ManifestTarget: Hashable {
    let name: String
    let path: String
    let dependencies: Set<String>

    /// Reads `shared(…)`, `module(…)`, `executable(…)`, `service(…)` and `tests(…)` of the package
    /// declaration, and plain `.target(…)`.
    static func parse(_ manifest: String) -> [ManifestTarget] {
        guard let start = manifest.ranges(of: "let package = Package(").first?.lowerBound else {
            return []
        }
        let calls: [(function: String, make: ([String]) -> [ManifestTarget])] = [
            (
                "shared(",
                { [.init(name: $0[0], path: "Shared/\($0[0])", dependencies: Set($0[1...]))] }
            ),
            ("module(", { [.init(name: $0[0], path: $0[1], dependencies: Set($0[2...]))] }),
            ("executable(", { [.init(name: $0[0], path: $0[1], dependencies: Set($0[2...]))] }),
            ("service(", service),
            ("tests(", tests),
        ]
        let plain = bodies(of: ".target(", in: manifest[start...]).compactMap(plainTarget)
        return plain
            + calls.flatMap { function, make in
                arguments(of: function, in: manifest[start...]).filter { !$0.isEmpty }.flatMap(make)
            }
    }

    private static func service(_ texts: [String]) -> [ManifestTarget] {
        let name = texts[0]
        let root = "Services/\(name)"
        let always: Set = ["\(name)Core", "Contracts", "Loop", "ServiceKit", "Bus"]
        return [
            .init(name: "\(name)Core", path: "\(root)/Core", dependencies: ["Contracts"]),
            .init(
                name: "\(name)Service",
                path: "\(root)/Service",
                dependencies: always.union(texts[1...])
            ),
            .init(
                name: "pushbus-\(name.lowercased())",
                path: "\(root)/Main",
                dependencies: ["\(name)Service", "ServiceKit"]
            ),
        ]
    }

    private static func tests(_ texts: [String]) -> [ManifestTarget] {
        [
            .init(
                name: "\(texts[0])Tests",
                path: "Tests/\(texts[0])Tests",
                dependencies: Set(texts[1...] + ["TestKit"])
            )
        ]
    }

    private static func plainTarget(_ body: Substring) -> ManifestTarget? {
        func literals(after label: String, upTo end: Character) -> [String] {
            guard let start = body.ranges(of: label).first?.upperBound else { return [] }
            return Self.literals(in: body[start...].prefix { $0 != end })
        }
        guard let name = literals(after: "name:", upTo: ",").first,
            let path = literals(after: "path:", upTo: ",").first
        else { return nil }
        let dependencies = literals(after: "dependencies:", upTo: "]")
        return .init(name: name, path: path, dependencies: Set(dependencies))
    }

    /// The string literals of every call of the function.
    private static func arguments(of function: String, in text: Substring) -> [[String]] {
        bodies(of: function, in: text).map(literals)
    }

    /// What stands between the parentheses of every call of the function.
    private static func bodies(of function: String, in text: Substring) -> [Substring] {
        var found: [Substring] = []
        var rest = text
        while let call = rest.ranges(of: function).first {
            let before = rest[..<call.lowerBound].last
            rest = rest[call.upperBound...]
            if let before, before.isLetter || (before == "." && !function.hasPrefix(".")) {
                continue
            }
            var depth = 1
            var isLiteral = false
            let end = rest.firstIndex { character in
                if character == "\"" { isLiteral.toggle() }
                if !isLiteral && character == "(" { depth += 1 }
                if !isLiteral && character == ")" { depth -= 1 }
                return depth == 0
            }
            found.append(rest[..<(end ?? rest.endIndex)])
        }
        return found
    }

    private static func literals(in text: Substring) -> [String] {
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }
}
