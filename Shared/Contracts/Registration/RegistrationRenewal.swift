/// `registration.admin.renew.v1`: what happens by itself when a restored backup is recognised, for a
/// restoration that cannot be: all sessions end, and binding numbers go on far above the old ones.
package struct RegistrationRenewal: BusRequest, Hashable {
    package typealias Answer = RegistrationRenewalAnswer
    package static let type = "registration.admin.renew.v1"
    package init() {}
}

package struct RegistrationRenewalAnswer: BusMessage, Hashable {
    package static let type = "registration.admin.renew.answer.v1"

    package var sessionsEnded: Int64

    package init(sessionsEnded: Int64) { self.sessionsEnded = sessionsEnded }

    enum CodingKeys: String, CodingKey {
        case sessionsEnded = "sessions_ended"
    }
}
