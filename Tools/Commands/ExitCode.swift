/// The exit codes of the tools (sysexits.h).
package enum ExitCode {
    package static let success: Int32 = 0
    /// What was asked for was refused or did not happen.
    package static let failure: Int32 = 1
    package static let usage: Int32 = 64
    /// The input is not what it should be.
    package static let badInput: Int32 = 65
    /// Nobody answered, or not in time.
    package static let unavailable: Int32 = 69
    /// A file or directory could not be used.
    package static let files: Int32 = 74
    package static let configuration: Int32 = 78

    /// For help pages.
    package static let help = """
        Exit codes: 0 done, 1 refused or failed, 64 bad command line, 65 bad input, 69 nobody
        answered in time, 74 a file cannot be used, 78 bad settings.
        """
}

/// Why a command ended without doing what it was asked, with what to do about it.
package struct CommandFailure: Error, Hashable, CustomStringConvertible {
    package var exitCode: Int32
    package var description: String

    package init(_ description: String, exitCode: Int32 = ExitCode.failure) {
        self.description = description
        self.exitCode = exitCode
    }
}
