import Bus
import Contracts
import ServiceKit

/// The settings of Fanout.
package struct FanoutSettings: Sendable {
    package var security: BusSecurity
    package var bind: BusEndpoint
    package var announcement: EndpointFile?
    package var eventIngest: BusEndpointSource
    package var registration: BusEndpointSource
    package var delivery: BusEndpointSource
    package var limits: FanoutLimits

    /// Reads all of them; the caller then calls `finish()`.
    package init(_ reader: inout EnvironmentReader) {
        let bus = BusSettings(&reader)
        security = bus.security
        bind = bus.bind(&reader)
        eventIngest = bus.peers("EVENTINGEST", &reader, help: "where EventIngest is")
        announcement = bus.announcement(&reader)
        registration = bus.peers("REGISTRATION", &reader, help: "where Registration is")
        delivery = bus.peers("DELIVERY", &reader, help: "where Delivery is")
        limits = FanoutLimits()
        limits.pageSize = reader.int(
            "PAGE_SIZE",
            default: limits.pageSize,
            in: 1...BusLimits.records,
            help: "installations of one page; an audience that fits one is committed at once"
        )
        limits.events = reader.int(
            "CONCURRENCY",
            default: limits.events,
            in: 1...256,
            help: "events worked on at the same time"
        )
        limits.window = reader.int(
            "WINDOW",
            default: limits.window,
            in: 1...64,
            help: "batches of one event on the way to Delivery at the same time"
        )
    }
}

/// Bounds and deadlines of the work; together they bound the memory.
package struct FanoutLimits: Sendable {
    /// Installations asked for at once.
    package var pageSize = BusLimits.records
    /// Events worked on at once.
    package var events = 8
    /// Batches of one event in flight to Delivery.
    package var window = 2
    /// Longest wait for a page of Registration.
    package var pageTimeout = Duration.seconds(5)
    /// Longest wait for Delivery's commit of a batch.
    package var enqueueTimeout = Duration.seconds(8)
    /// Longest wait for EventIngest's answer to a report.
    package var reportTimeout = Duration.seconds(8)
    /// After this a request is sent again under the same id.
    package var resendEvery = Duration.seconds(2)
    /// Delay asked for when a peer is silent, in milliseconds.
    package var silenceDelay: Int64 = 2_000
    /// Delay asked for when a peer answers what cannot be used, in milliseconds.
    package var faultDelay: Int64 = 15_000

    package init() {}
}
