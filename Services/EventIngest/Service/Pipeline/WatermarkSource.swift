/// Where watermarks come from: Registration.
package protocol WatermarkSource: Sendable {
    /// The committed binding counter, asked for now; throws when there is no answer in time.
    func watermark(within limit: Duration) async throws -> Int64
}
