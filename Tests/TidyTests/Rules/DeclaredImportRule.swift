/// What a file imports is a declared dependency of its target; the build misses transitive ones.
struct DeclaredImportRule: TidyRule {
    /// Modules of the toolchain and the C library.
    static let toolchain: Set<Substring> = [
        "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Dispatch", "Testing",
        "PackageDescription", "CryptoKit",
    ]

    func breaches(in tree: SourceTree) -> [Breach] {
        tree.swiftFiles.filter { $0.path.contains("/") }.flatMap { file -> [Breach] in
            guard let target = tree.target(of: file) else {
                return [Breach(file, 0, "belongs to no target of the manifest")]
            }
            return file.imports.compactMap { module, line in
                if Self.toolchain.contains(module) || target.dependencies.contains(String(module)) {
                    return nil
                }
                return Breach(file, line, "\(target.name) does not declare \(module)")
            }
        }
    }
}
