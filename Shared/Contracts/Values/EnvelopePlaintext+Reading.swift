extension EnvelopePlaintext {
    /// Reads the JSON of the plaintext in any key order; unknown keys are ignored, so that a later
    /// sender may add optional ones.
    package init(decoding bytes: [UInt8]) throws(ContractViolation) {
        guard bytes.count <= Envelope.plaintextLimit else {
            throw ContractViolation("", "must be at most 2048 bytes")
        }
        let json: StrictJSON
        do throws(StrictJSON.Failure) {
            json = try StrictJSON(parsing: bytes, depth: 8)
        } catch {
            throw ContractViolation("", error.reason)
        }
        try self.init(reading: json)
    }

    /// Takes the members of the plaintext from an object that was already parsed.
    package init(reading json: StrictJSON) throws(ContractViolation) {
        guard json.members != nil else { throw ContractViolation("", "must be an object") }
        guard let eventID = EventID(try json.requiredText("event_id")) else {
            throw ContractViolation("/event_id", "must be a lowercase UUID")
        }
        self.init(
            identity: try EnvelopeIdentity(reading: json),
            eventID: eventID,
            createdAt: UnixSeconds(try json.requiredInteger("created_at")),
            expiresAt: UnixSeconds(try json.requiredInteger("expires_at")),
            content: try NotificationContent(reading: json)
        )
    }
}

extension EnvelopeIdentity {
    /// Takes `deployment_id`, `user_id` and `installation_id` from an object.
    package init(reading json: StrictJSON) throws(ContractViolation) {
        self.init(
            deploymentID: DeploymentID(try json.requiredText("deployment_id")),
            userID: UserID(try json.requiredText("user_id")),
            installationID: InstallationID(try json.requiredText("installation_id"))
        )
    }
}

extension NotificationContent {
    /// Takes `kind` and its optional part.
    fileprivate init(reading json: StrictJSON) throws(ContractViolation) {
        guard let category = Category(rawValue: try json.requiredText("kind")) else {
            throw ContractViolation("/kind", "is not a known kind")
        }
        switch category {
        case .test: self = .test
        case .alert: self = .alert(try AlertContent(reading: try json.requiredObject("alert")))
        case .security:
            self = .security(
                SecurityContent(
                    serverID: try json.requiredText("server_id"),
                    securityEventID: try json.requiredText("security_event_id"),
                    securityEventType: try json.requiredText("security_event_type")
                )
            )
        case .taskFailure:
            self = .taskFailure(try TaskRunContent(reading: try json.requiredObject("task_run")))
        case .taskSuccess:
            self = .taskSuccess(try TaskRunContent(reading: try json.requiredObject("task_run")))
        }
    }
}

extension AlertContent {
    fileprivate init(reading json: StrictJSON) throws(ContractViolation) {
        guard let status = Status(rawValue: try json.requiredText("status", under: "/alert")) else {
            throw ContractViolation("/alert/status", "must be firing or resolved")
        }
        self.init(
            alertKey: try json.requiredText("alert_key", under: "/alert"),
            status: status,
            ruleName: try json.requiredText("rule_name", under: "/alert"),
            serverName: try json.requiredText("server_name", under: "/alert")
        )
    }
}

extension TaskRunContent {
    fileprivate init(reading json: StrictJSON) throws(ContractViolation) {
        self.init(
            taskID: try json.requiredText("task_id", under: "/task_run"),
            runID: try json.requiredText("run_id", under: "/task_run"),
            total: try json.requiredInteger("total", under: "/task_run"),
            failed: try json.requiredInteger("failed", under: "/task_run"),
            timedOut: try json.requiredInteger("timed_out", under: "/task_run"),
            offline: try json.requiredInteger("offline", under: "/task_run"),
            denied: try json.requiredInteger("denied", under: "/task_run")
        )
    }
}

extension StrictJSON {
    /// The string member, or a violation that names it.
    package func requiredText(
        _ key: String,
        under pointer: String = ""
    ) throws(ContractViolation) -> String {
        guard let text = self[key]?.text else {
            throw ContractViolation("\(pointer)/\(key)", "must be a string")
        }
        return text
    }

    /// The integer member, or a violation that names it.
    package func requiredInteger(
        _ key: String,
        under pointer: String = ""
    ) throws(ContractViolation) -> Int64 {
        guard let number = self[key]?.safeInteger else {
            throw ContractViolation("\(pointer)/\(key)", "must be an integer")
        }
        return number
    }

    /// The object member, or a violation that names it.
    package func requiredObject(_ key: String) throws(ContractViolation) -> StrictJSON {
        guard let value = self[key], value.members != nil else {
            throw ContractViolation("/\(key)", "must be an object")
        }
        return value
    }
}
