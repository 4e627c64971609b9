/// One place that breaks a rule of the house.
struct Breach: CustomStringConvertible, Hashable {
    let path: String
    /// From 1; 0 for the file as a whole.
    let line: Int
    let message: String

    init(_ file: SourceFile, _ line: Int, _ message: String) {
        path = file.path
        self.line = line
        self.message = message
    }

    init(path: String, _ message: String) {
        self.path = path
        line = 0
        self.message = message
    }

    var description: String {
        "\(path):\(line): \(message)"
    }
}
