import Bus
import Contracts
import ServiceKit
import TestKit
import Testing
import ZeroMQ

@Suite struct EndpointTests {
    @Test func goodEndpointsAreRead() throws {
        let ipc = try BusEndpoint(parsing: "ipc:///run/pushbus/a.sock")
        #expect(ipc.transport == .ipc("/run/pushbus/a.sock"))
        #expect(ipc.address == "ipc:///run/pushbus/a.sock")
        let tcp = try BusEndpoint(parsing: "tcp://[::1]:4000")
        #expect(tcp.transport == .tcp("[::1]", 4000))
        let key = try CurveKeyPair.generate().publicKey
        let keyed = try BusEndpoint(parsing: "tcp://bus.example:4000 \(key.z85)")
        #expect(keyed.serverKey == key)
        let list = try BusEndpoint.list("ipc:///a, ipc:///b,ipc:///a")
        #expect(list.map(\.address) == ["ipc:///a", "ipc:///b"])
    }

    @Test(arguments: [
        "", "ipc://relative", "ipc:///", "ipc:///a/", "ipc://@abstract", "tcp://", "tcp://host",
        "tcp://host:99999", "tcp://:1", "tcp://a;b:1", "udp://host:1", "inproc://x",
        "tcp://host:1 short", "ipc:///" + String(repeating: "x", count: 120),
    ])
    func badEndpointsAreRefused(_ text: String) {
        #expect(throws: BusConfigurationError.self) { try BusEndpoint(parsing: text) }
    }

    @Test func settingsReportEverythingAtOnce() throws {
        var reader = EnvironmentReader(
            prefix: "PUSHBUS_FANOUT_",
            values: [
                "PUSHBUS_FANOUT_BIND": "tcp://127.0.0.1:0",
                "PUSHBUS_FANOUT_DELIVERY": "nonsense",
                "PUSHBUS_FANOUT_CURVE_KEY_FILE": "/does/not/exist",
                "PUSHBUS_FANOUT_CURVE_SERVER_KEY": "short",
            ]
        )
        let settings = BusSettings(&reader)
        _ = settings.bind(&reader)
        _ = settings.peers("DELIVERY", &reader, help: "where Delivery is")
        _ = settings.peers("REGISTRATION", &reader, help: "where Registration is")
        let error = #expect(throws: ConfigurationErrors.self) { try reader.finish() }
        #expect(
            error?.problems.map(\.variable).sorted() == [
                "PUSHBUS_FANOUT_BIND", "PUSHBUS_FANOUT_CURVE_KEY_FILE",
                "PUSHBUS_FANOUT_CURVE_SERVER_KEY", "PUSHBUS_FANOUT_DELIVERY",
                "PUSHBUS_FANOUT_REGISTRATION",
            ]
        )
    }

    @Test func settingsOpenTCPWithKeyAndAllowList() throws {
        let directory = try TemporaryDirectory()
        let keys = try CurveKeyPair.generate()
        try CurveKeyFile.write(keys, to: directory.file("own.key"))
        let world = try BusWorld()
        let allow = try world.write("peer \(keys.publicKey.z85) *\n", to: "allow")
        var reader = EnvironmentReader(
            prefix: "PUSHBUS_FANOUT_",
            values: [
                "PUSHBUS_FANOUT_BIND": "tcp://127.0.0.1:0",
                "PUSHBUS_FANOUT_DELIVERY": "tcp://127.0.0.1:1 \(keys.publicKey.z85)",
                "PUSHBUS_FANOUT_CURVE_KEY_FILE": directory.file("own.key"),
                "PUSHBUS_FANOUT_CURVE_ALLOW_LIST": allow,
            ]
        )
        let settings = BusSettings(&reader)
        #expect(settings.bind(&reader).transport == .tcp("127.0.0.1", 0))
        _ = settings.peers("DELIVERY", &reader, help: "where Delivery is")
        try reader.finish()
    }
}
