/// What a notification is about: the `kind` of the envelope and the subject of a subscription.
package enum Category: String, Codable, Hashable, CaseIterable, Sendable {
    case test
    case alert
    case security
    case taskFailure = "task_failure"
    case taskSuccess = "task_success"
}

/// What an account may do.
package enum Role: String, Codable, Hashable, CaseIterable, Sendable {
    case admin
    case member
}
