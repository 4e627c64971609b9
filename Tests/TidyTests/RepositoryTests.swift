import Testing

/// The house rules, held over the whole repository.
@Suite
struct RepositoryTests {
    private static let rules: [any TidyRule] = [
        ImportFloorRule(), DeclaredImportRule(), ProofRule(), ThreadRule(), LengthRule(),
        SleepRule(), NameRule(), PurityRule(), LeftoverRule(), AccessRule(),
    ]

    @Test("No file breaks a rule of the house")
    func noBreaches() throws {
        let tree = try SourceTree.repository()
        #expect(tree.swiftFiles.count > 50)
        let breaches = Self.rules.flatMap { $0.breaches(in: tree) }
        for breach in breaches { Issue.record("\(breach)") }
    }

    @Test("Every target of the manifest was understood and has sources")
    func manifest() throws {
        let tree = try SourceTree.repository()
        #expect(tree.targets.count > 40)
        for target in tree.targets {
            #expect(
                tree.swiftFiles.contains { $0.path.hasPrefix(target.path + "/") },
                "\(target.name) has no file below \(target.path)"
            )
        }
        let names = Set(tree.targets.map(\.name)).union(
            ImportFloorRule.wrappers.keys.map(String.init)
        )
        for target in tree.targets {
            #expect(target.dependencies.subtracting(names).isEmpty, "\(target.name)")
        }
    }
}
