import Contracts

/// Where the device token comes from; the app registers with its system.
package protocol DeviceTokenSource: Sendable {
    func token() async throws(DeviceTokenFailure) -> IssuedToken
}

/// A token of the system's push service, and the environment it is good in.
package struct IssuedToken: Codable, Hashable, Sendable {
    package var token: DeviceToken
    package var environment: APNsEnvironment

    package init(token: DeviceToken, environment: APNsEnvironment) {
        self.token = token
        self.environment = environment
    }
}

/// Why the system issued no token; the text holds no token.
package struct DeviceTokenFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}
