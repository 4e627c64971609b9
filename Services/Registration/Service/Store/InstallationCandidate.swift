import Contracts
import RegistrationCore
import Storage

/// An installation with what else decides whether it may receive.
struct InstallationCandidate {
    let installation: Installation
    let standing: Eligibility.Standing

    /// A statement to which conditions are added; `$1` is the current second.
    static let query = """
        SELECT \(InstallationRow.columns), a.role, s.session_id FROM installations i
        LEFT JOIN accounts a ON a.user_id = i.user_id
        LEFT JOIN sessions s ON s.session_id = i.session_id AND s.user_id = i.user_id
            AND s.expires_at > $1
        """

    /// Reads a row of ``query``.
    init(_ row: some SQLRow) {
        installation = InstallationRow.read(row)
        standing = Eligibility.Standing(
            role: row.textOrNil(InstallationRow.count).flatMap { Role(rawValue: $0) },
            sessionIsAlive: !row.isNull(InstallationRow.count + 1)
        )
    }
}
