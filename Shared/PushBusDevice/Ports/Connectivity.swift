/// Knows when the network came back; the app watches its system's paths.
package protocol Connectivity: Sendable {
    /// Returns true when the network has come back since the last call, false when the task was
    /// cancelled.
    func recovered() async -> Bool
}
