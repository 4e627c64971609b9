/// A message that breaks its contract: where (a JSON pointer, RFC 6901) and how.
///
/// The reason names the rule and never repeats the offending value, which may be secret.
package struct ContractViolation: Error, Hashable, Sendable, CustomStringConvertible {
    package var pointer: String
    package var reason: String

    package init(_ pointer: String, _ reason: String) {
        self.pointer = pointer
        self.reason = reason
    }

    package var description: String { "\(pointer.isEmpty ? "/" : pointer) \(reason)" }

    /// The same violation seen from one level further out.
    package func under(_ prefix: String) -> Self { Self(prefix + pointer, reason) }

    /// Throws unless `holds`.
    package static func check(
        _ holds: Bool,
        _ pointer: @autoclosure () -> String,
        _ reason: @autoclosure () -> String
    ) throws(Self) {
        if !holds { throw Self(pointer(), reason()) }
    }
}
