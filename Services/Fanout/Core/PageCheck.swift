import Contracts

/// What a page of an audience must fulfil before anything is sealed from it.
///
/// Rows are told apart by (event, installation) and the cursor moves by installation, so a page
/// out of order could skip somebody for good; such a page is refused whole.
package enum PageCheck {
    /// Throws when the page does not go on from `after` in strict installation order.
    package static func check(
        _ page: AudiencePageAnswer,
        after: InstallationID?
    ) throws(ContractViolation) {
        var previous = after
        for (index, recipient) in page.recipients.enumerated() {
            let id = recipient.installationID
            let pointer = "/recipients/\(index)/installation_id"
            try ContractViolation.check(
                id.isWellFormed,
                pointer,
                "must be 1 to 512 bytes without control characters"
            )
            try ContractViolation.check(
                previous.map { $0 < id } ?? true,
                pointer,
                "must come after the one before it"
            )
            previous = id
        }
        guard let last = page.last else {
            try ContractViolation.check(
                page.recipients.isEmpty && !page.more,
                "/last",
                "is missing although the page looked at installations"
            )
            return
        }
        try ContractViolation.check(
            last.isWellFormed && (previous.map { $0 <= last } ?? true),
            "/last",
            "must not lie before the last recipient"
        )
        try ContractViolation.check(
            !page.more || after.map { $0 < last } ?? true,
            "/last",
            "must lie beyond the page's beginning when more follows"
        )
    }
}
