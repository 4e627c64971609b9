/// `audience.open.v1`: asks Registration for its committed binding counter.
package struct AudienceOpen: BusRequest, Hashable {
    package typealias Answer = AudienceOpenAnswer
    package static let type = "audience.open.v1"
    package init() {}
}

/// The watermark of every event that was committed before the question was asked.
package struct AudienceOpenAnswer: BusMessage, Hashable {
    package static let type = "audience.open.answer.v1"
    package var watermark: Int64
    package init(watermark: Int64) { self.watermark = watermark }
}
