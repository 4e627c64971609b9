import FoundationEssentials

/// What a process writes when it is ready: its ports by listener.
enum ReadyFile {
    /// The ports in the file; nil when it is not there or not a ready file.
    static func ports(_ path: String) -> [String: UInt16]? {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { return nil }
        return try? JSONDecoder().decode([String: UInt16].self, from: data)
    }
}
