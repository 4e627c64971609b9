import FoundationEssentials
import Glibc

/// A directory of mode 0700 that goes, with all it holds, when the last reference does.
///
/// The path is short enough for `ipc://` endpoints, which end at 107 bytes.
package final class TemporaryDirectory: Sendable {
    /// Its absolute path, without a slash at the end.
    package let path: String

    /// Makes it below /tmp.
    package init() throws {
        var template = Array("/tmp/pb.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of an entry of that name.
    package func file(_ name: String) -> String {
        path + "/" + name
    }

    /// The directory could not be made; `code` is the errno.
    package struct Failure: Error {
        package let code: Int32
    }
}
