import Contracts

extension EnvelopePlaintext {
    /// The compact JSON of the plaintext in its fixed key order, at most 2048 bytes.
    ///
    /// The two title parts of an alert are cut at grapheme boundaries: to 120 Unicode scalars each,
    /// as the reference does, and further when the whole would not fit.
    package func encoded() throws(EnvelopeError) -> [UInt8] {
        guard case .alert(var alert) = content else { return try bounded(written(content)) }
        alert.ruleName = TitleCut.byScalars(alert.ruleName)
        alert.serverName = TitleCut.byScalars(alert.serverName)
        let whole = written(.alert(alert))
        guard whole.count > Envelope.plaintextLimit else { return whole }
        let rule = TitleCut.encodedBytes(alert.ruleName)
        let server = TitleCut.encodedBytes(alert.serverName)
        let room = Envelope.plaintextLimit - (whole.count - rule - server)
        guard room >= 0 else { throw .plaintextTooLarge(bytes: whole.count - rule - server) }
        let half = room / 2
        let ruleRoom = server <= half ? room - server : min(rule, half)
        let serverRoom = rule <= half ? room - rule : min(server, room - ruleRoom)
        alert.ruleName = TitleCut.byEncodedBytes(alert.ruleName, atMost: ruleRoom)
        alert.serverName = TitleCut.byEncodedBytes(alert.serverName, atMost: serverRoom)
        return try bounded(written(.alert(alert)))
    }

    private func bounded(_ bytes: [UInt8]) throws(EnvelopeError) -> [UInt8] {
        guard bytes.count <= Envelope.plaintextLimit else {
            throw .plaintextTooLarge(bytes: bytes.count)
        }
        return bytes
    }

    private func written(_ content: NotificationContent) -> [UInt8] {
        var json = CompactJSON(reservingBytes: 512)
        json.object { json in
            json.field("kind", content.category.rawValue)
            json.field("deployment_id", identity.deploymentID.text)
            json.field("user_id", identity.userID.text)
            json.field("installation_id", identity.installationID.text)
            json.field("event_id", eventID.description)
            json.field("created_at", createdAt.seconds)
            json.field("expires_at", expiresAt.seconds)
            switch content {
            case .test: break
            case .alert(let alert):
                json.key("alert")
                json.object {
                    $0.field("alert_key", alert.alertKey)
                    $0.field("status", alert.status.rawValue)
                    $0.field("rule_name", alert.ruleName)
                    $0.field("server_name", alert.serverName)
                }
            case .security(let security):
                json.field("server_id", security.serverID)
                json.field("security_event_id", security.securityEventID)
                json.field("security_event_type", security.securityEventType)
            case .taskFailure(let run), .taskSuccess(let run):
                json.key("task_run")
                json.object {
                    $0.field("task_id", run.taskID)
                    $0.field("run_id", run.runID)
                    $0.field("total", run.total)
                    $0.field("failed", run.failed)
                    $0.field("timed_out", run.timedOut)
                    $0.field("offline", run.offline)
                    $0.field("denied", run.denied)
                }
            }
        }
        return json.bytes
    }
}

/// Cuts a title without splitting what a reader sees as one character.
package enum TitleCut {
    /// Unicode scalars that the reference keeps of a title part.
    package static let scalarLimit = 120

    /// The longest prefix of whole graphemes with at most 120 scalars.
    package static func byScalars(_ text: String) -> String {
        // No text has more scalars than bytes, and bytes need not be counted.
        guard text.utf8.count > scalarLimit, text.unicodeScalars.count > scalarLimit else {
            return text
        }
        return prefix(of: text, atMost: scalarLimit) { $0.unicodeScalars.count }
            ?? String(String.UnicodeScalarView(text.unicodeScalars.prefix(scalarLimit)))
    }

    /// The longest prefix of whole graphemes that takes at most so many bytes in a JSON string.
    package static func byEncodedBytes(_ text: String, atMost limit: Int) -> String {
        guard encodedBytes(text) > limit else { return text }
        return prefix(of: text, atMost: limit) { encodedBytes(String($0)) } ?? ""
    }

    /// Bytes of the text inside a JSON string, without the quotes.
    package static func encodedBytes(_ text: String) -> Int {
        text.utf8.reduce(0) { $0 + CompactJSON.encodedBytes(of: $1) }
    }

    /// nil when not even the first grapheme fits.
    private static func prefix(
        of text: String,
        atMost limit: Int,
        size: (Character) -> Int
    ) -> String? {
        var used = 0
        var end = text.startIndex
        while end < text.endIndex {
            used += size(text[end])
            if used > limit { break }
            end = text.index(after: end)
        }
        return end == text.startIndex ? nil : String(text[..<end])
    }
}
