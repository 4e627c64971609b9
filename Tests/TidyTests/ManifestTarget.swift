/// A target as the manifest declares it through its own small functions.
struct ManifestTarget: Hashable {
    let name: String
    let path: String
    let dependencies: Set<String>

    /// Reads `shared(…)`, `module(…)`, `executable(…)`, `service(…)` and `tests(…)` of the package
    /// declaration.
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
        return calls.flatMap { function, make in
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

    /// The string literals of every call of the function.
    private static func arguments(of function: String, in text: Substring) -> [[String]] {
        var found: [[String]] = []
        var rest = text
        while let call = rest.ranges(of: function).first {
            let before = rest[..<call.lowerBound].last
            rest = rest[call.upperBound...]
            if let before, before.isLetter || before == "." { continue }
            var depth = 1
            var literals: [String] = []
            var literal: String?
            for character in rest {
                if character == "\"" {
                    if let finished = literal { literals.append(finished) }
                    literal = literal == nil ? "" : nil
                } else if literal != nil {
                    literal?.append(character)
                } else if character == "(" {
                    depth += 1
                } else if character == ")" {
                    depth -= 1
                    if depth == 0 { break }
                }
            }
            found.append(literals)
        }
        return found
    }
}
