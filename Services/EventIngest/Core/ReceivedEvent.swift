import Contracts

/// One CloudEvent whose attributes hold; its data is read by ``Happening``.
package struct ReceivedEvent: Hashable, Sendable {
    package var source: String
    package var id: String
    package var type: String
    /// When it happened, as the producer says.
    package var time: UnixMilliseconds?
    /// When the producer has no more use for it.
    package var expirytime: UnixMilliseconds?
    package var traceparent: String?
    package var data: JSONValue
    /// The canonical form, whose hash tells a resend from a conflict: attributes that are null are
    /// absent, `data_base64` stands decoded as `data`, and `traceparent` and `tracestate` are left
    /// out, because a resend may belong to another trace.
    package var canonical: [UInt8]
}

extension ReceivedEvent {
    /// Longest `source`, `id` and `type`, in bytes.
    package static let attributeBytes = 512

    /// Reads the structured JSON form of CloudEvents 1.0.
    ///
    /// `decodeJSON` reads the bytes behind `data_base64`; it answers nil for anything but JSON. The
    /// violation's pointer leads into the event.
    package init(
        _ value: JSONValue,
        decodeJSON: ([UInt8]) -> JSONValue?
    ) throws(ContractViolation) {
        guard case .object(let members) = value else {
            throw ContractViolation("", "must be a JSON object that holds one CloudEvent")
        }
        try CloudEventAttributes.checkSize(of: value)
        var attributes = members.filter { $0.value != .null }
        let data = try Self.data(in: attributes, decodeJSON: decodeJSON)
        attributes["data"] = nil
        attributes["data_base64"] = nil
        let reader = CloudEventAttributes(attributes)
        try reader.checkNamesAndValues()
        try reader.checkVersion()
        source = try reader.required("source")
        try CloudEventAttributes.checkURIReference(source, at: "/source")
        id = try reader.required("id")
        type = try reader.required("type")
        time = try reader.timestamp("time")
        expirytime = try reader.timestamp("expirytime")
        traceparent = try reader.traceparent()
        try reader.checkOptionals()
        self.data = data
        attributes["traceparent"] = nil
        attributes["tracestate"] = nil
        attributes["data"] = data
        canonical = try CloudEventAttributes.canonicalBytes(of: .object(attributes))
    }

    private static func data(
        in attributes: [String: JSONValue],
        decodeJSON: ([UInt8]) -> JSONValue?
    ) throws(ContractViolation) -> JSONValue {
        switch (attributes["data"], attributes["data_base64"]) {
        case (let data?, nil):
            return data
        case (nil, let encoded?):
            guard case .string(let text) = encoded, let blob = Blob(base64: text) else {
                throw ContractViolation("/data_base64", "must be padded standard base64")
            }
            guard let data = decodeJSON(blob.bytes) else {
                throw ContractViolation(
                    "/data_base64",
                    "must hold JSON; better send the JSON itself as data"
                )
            }
            return data
        case (_?, _?):
            throw ContractViolation("/data_base64", "must not stand beside data; leave one out")
        case (nil, nil):
            throw ContractViolation("/data", "is missing; every event type here carries data")
        }
    }
}
