import FoundationEssentials

/// The files of the repository, or a few made up by a test, and the targets of its manifest.
struct SourceTree {
    let files: [SourceFile]
    let targets: [ManifestTarget]

    /// Only files that are listed, with the targets of a manifest.
    init(files: [SourceFile], manifest: String = "") {
        self.files = files
        targets = ManifestTarget.parse(manifest)
    }

    /// A made-up tree.
    init(_ files: KeyValuePairs<String, String>, manifest: String = "") {
        self.init(files: files.map { SourceFile($0.key, $0.value) }, manifest: manifest)
    }

    var swiftFiles: [SourceFile] {
        files.filter(\.isSwift)
    }

    /// The target a file belongs to: the one with the longest path that holds it.
    func target(of file: SourceFile) -> ManifestTarget? {
        targets.filter { file.path.hasPrefix($0.path + "/") }.max { $0.path.count < $1.path.count }
    }

    /// The whole repository this test was built from.
    static func repository() throws -> SourceTree {
        var root = URL(filePath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let top = root.path
        var files: [SourceFile] = []
        var folders = [""]
        let endings = [
            "swift", "py", "sh", "md", "json", "yaml", "yml", "txt", "h", "modulemap", "run",
        ]
        while let folder = folders.popLast() {
            let names = try FileManager.default.contentsOfDirectory(atPath: top + "/" + folder)
            for name in names.sorted() where !skipped.contains(name) && !name.hasPrefix(".build") {
                let path = folder.isEmpty ? name : folder + "/" + name
                var isFolder = false
                guard
                    FileManager.default.fileExists(atPath: top + "/" + path, isDirectory: &isFolder)
                else { continue }
                if isFolder {
                    folders.append(path)
                } else if folder == "script"
                    || endings.contains(where: { name.hasSuffix(".\($0)") })
                    || path == ".ci/run"
                {
                    let data = try Data(contentsOf: URL(filePath: top + "/" + path))
                    files.append(SourceFile(path, String(decoding: data, as: UTF8.self)))
                }
            }
        }
        let manifest = try Data(contentsOf: URL(filePath: top + "/Package.swift"))
        return SourceTree(files: files, manifest: String(decoding: manifest, as: UTF8.self))
    }

    private static let skipped: Set<String> = [
        ".git", ".venv", "__pycache__", ".pytest_cache", "node_modules",
    ]
}
