// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]

func cLibrary(_ name: String) -> Target {
    .systemLibrary(name: name, path: "Shared/CLibraries/\(name)")
}

/// What stands among the sources of a target without being one of them.
let others = [
    "PushBusDevice": ["README.md"], "phone": ["README.md"], "pushbus": ["README.md"],
    "pushbus-bench": ["CurlMulti"],
]

/// On Apple's platforms the phone's library uses CryptoKit and needs no OpenSSL.
func dependency(_ name: String, of target: String) -> Target.Dependency {
    guard target == "PushBusDevice", name == "PushBusCrypto" else { return .byName(name: name) }
    return .byName(name: name, condition: .when(platforms: [.linux]))
}

func module(_ name: String, _ path: String, _ dependencies: [String]) -> Target {
    .target(
        name: name,
        dependencies: dependencies.map { dependency($0, of: name) },
        path: path,
        exclude: others[name] ?? [],
        swiftSettings: settings
    )
}

func shared(_ name: String, _ dependencies: [String]) -> Target {
    module(name, "Shared/\(name)", dependencies)
}

func executable(_ name: String, _ path: String, _ dependencies: [String]) -> Target {
    .executableTarget(
        name: name,
        dependencies: dependencies.map { .byName(name: $0) },
        path: path,
        exclude: others[name] ?? [],
        swiftSettings: settings
    )
}

/// One service is three modules: Core decides, Service runs, Main starts.
func service(_ name: String, uses dependencies: [String]) -> [Target] {
    [
        module("\(name)Core", "Services/\(name)/Core", ["Contracts"]),
        module(
            "\(name)Service",
            "Services/\(name)/Service",
            ["\(name)Core", "Contracts", "Loop", "ServiceKit", "Bus"] + dependencies
        ),
        executable(
            "pushbus-\(name.lowercased())",
            "Services/\(name)/Main",
            ["\(name)Service", "ServiceKit"]
        ),
    ]
}

/// `PUSHBUS_TEST_ONLY=Storage,Bus` leaves the other test targets out of the build, which keeps
/// the round trip short while one module is being worked on.
let onlyTests = Context.environment["PUSHBUS_TEST_ONLY"]?.split(separator: ",").map(String.init)

/// Folders of test targets that hold data or scripts.
let notCode = ["System": ["Interop"], "Contracts": ["Golden"]]

func tests(_ name: String, _ dependencies: [String]) -> [Target] {
    if let onlyTests, !onlyTests.contains(name) { return [] }
    return [
        .testTarget(
            name: "\(name)Tests",
            dependencies: (dependencies + ["TestKit"]).map { .byName(name: $0) },
            path: "Tests/\(name)Tests",
            exclude: notCode[name] ?? [],
            swiftSettings: settings
        )
    ]
}

let package = Package(
    name: "PushBus",
    targets: [
        // C libraries of Debian, each imported by its one wrapper below.
        [
            "CLinux", "CZMQ", "COpenSSL", "CNghttp2", "CMHD", "CSQLite", "CCurl", "CMsgpack",
            "CSodium", "CQREncode", "CPostgreSQL",
        ]
        .map(cLibrary),
        [
            // Shared, lowest floor first.
            .target(
                name: "Contracts",
                path: "Shared/Contracts",
                exclude: ["Schemas", "openapi", "asyncapi.yaml"],
                swiftSettings: settings
            ),
            shared("Loop", ["CLinux"]),
            shared("HTTPServer", ["CMHD", "Loop"]),
            shared("ServiceKit", ["Contracts", "Loop", "HTTPServer"]),
            shared("ZeroMQ", ["CZMQ", "Loop"]),
            shared("Bus", ["CMsgpack", "ZeroMQ", "Contracts", "Loop", "ServiceKit"]),
            shared("Storage", ["CSQLite", "CPostgreSQL", "Loop", "ServiceKit"]),
            shared("TLS", ["COpenSSL"]),
            shared("HTTP2", ["CNghttp2", "TLS", "Loop"]),
            shared("HTTPClient", ["CCurl", "Loop"]),
            shared("PushBusCrypto", ["COpenSSL", "CSodium", "Contracts"]),
            shared("QRCode", ["CQREncode"]),
            shared("PushBusDevice", ["Contracts", "PushBusCrypto"]),
            shared("Topology", ["Contracts", "Loop", "ServiceKit"]),
        ],
        service("Registration", uses: ["Storage", "HTTPServer", "PushBusCrypto"]),
        service("EventIngest", uses: ["Storage", "HTTPServer", "PushBusCrypto"]),
        service("Fanout", uses: ["PushBusCrypto"]),
        service("Delivery", uses: ["Storage", "HTTPClient", "PushBusCrypto"]),
        service("Relay", uses: ["HTTPServer", "TLS", "HTTP2", "PushBusCrypto"]),
        [
            module(
                "APNsSimulator",
                "Tools/apns-simulator/Simulator",
                ["Contracts", "Loop", "ServiceKit", "TLS", "HTTP2", "HTTPServer", "PushBusCrypto"]
            ),
            executable(
                "apns-simulator",
                "Tools/apns-simulator/Main",
                ["APNsSimulator", "ServiceKit"]
            ),
            // What the command lines share: words, help, exit codes, tables.
            module("Commands", "Tools/Commands", ["Loop", "ServiceKit"]),
            executable(
                "phone",
                "Tools/phone",
                [
                    "Commands", "Contracts", "Loop", "ServiceKit", "HTTPClient", "PushBusDevice",
                ]
            ),
            executable(
                "pushbus",
                "Tools/pushbus",
                [
                    "Commands", "Contracts", "Loop", "ServiceKit", "Bus", "ZeroMQ", "PushBusCrypto",
                    "QRCode", "Topology",
                ]
            ),
            executable(
                "pushbus-bench",
                "Tests/Benchmarks",
                [
                    "Contracts", "Loop", "ServiceKit", "Bus", "TLS", "HTTP2", "HTTPClient",
                    "Topology", "Storage", "PushBusCrypto", "DeliveryCore", "DeliveryService",
                    "TestKit",
                ]
            ),
            // libcurl's multi interface, what pushbus-bench compares our HTTP/2 client with.
            .executableTarget(
                name: "pushbus-bench-curl",
                path: "Tests/Benchmarks/CurlMulti",
                linkerSettings: [.linkedLibrary("curl")]
            ),
            executable("fuzz-bus-bodies", "Tests/Fuzz/BusBodies", ["Bus", "Contracts"]),
            executable("fuzz-events", "Tests/Fuzz/Events", ["EventIngestCore", "Contracts"]),
            module("TestKit", "Tests/Support/TestKit", ["Contracts", "Loop", "ServiceKit"]),
        ],
        tests("Contracts", ["Contracts", "Bus"]),
        tests("Loop", ["Loop"]),
        tests("ServiceKit", ["Contracts", "Loop", "ServiceKit", "HTTPServer"]),
        tests("HTTPServer", ["HTTPServer", "HTTPClient", "Loop"]),
        tests("ZeroMQ", ["ZeroMQ", "Loop"]),
        tests("Bus", ["Bus", "ZeroMQ", "Contracts", "Loop", "ServiceKit"]),
        tests("Storage", ["Storage", "Loop", "ServiceKit"]),
        tests("HTTP2", ["HTTP2", "TLS", "Loop", "PushBusCrypto"]),
        tests("HTTPClient", ["HTTPClient", "HTTPServer", "Loop"]),
        tests("PushBusCrypto", ["PushBusCrypto", "Contracts"]),
        tests("QRCode", ["QRCode"]),
        tests(
            "PushBusDevice",
            ["PushBusDevice", "PushBusCrypto", "Contracts", "Loop", "ServiceKit"]
        ),
        tests(
            "Commands",
            ["Commands", "Contracts", "Loop", "ServiceKit", "Topology", "pushbus"]
        ),
        tests(
            "Phone",
            ["phone", "Commands", "Contracts", "HTTPClient", "Loop", "PushBusDevice", "ServiceKit"]
        ),
        tests("Topology", ["Topology", "Contracts", "Loop", "ServiceKit"]),
        tests(
            "Registration",
            [
                "RegistrationCore", "RegistrationService", "Contracts", "Bus", "Storage", "Loop",
                "ServiceKit", "HTTPServer", "HTTPClient", "PushBusCrypto",
            ]
        ),
        tests(
            "EventIngest",
            [
                "EventIngestCore", "EventIngestService", "Contracts", "Bus", "ZeroMQ", "Storage",
                "Loop", "ServiceKit", "PushBusCrypto", "HTTPServer", "HTTPClient",
            ]
        ),
        tests(
            "Fanout",
            [
                "FanoutCore", "FanoutService", "Contracts", "Bus", "Loop", "ServiceKit",
                "PushBusCrypto",
            ]
        ),
        tests(
            "Delivery",
            [
                "DeliveryCore", "DeliveryService", "Contracts", "Bus", "Storage", "Loop",
                "ServiceKit", "HTTPServer", "HTTP2", "TLS", "PushBusCrypto",
            ]
        ),
        tests(
            "Relay",
            [
                "RelayCore", "RelayService", "APNsSimulator", "DeliveryCore", "Contracts", "Bus",
                "Loop", "ServiceKit",
                "HTTPServer", "HTTPClient", "TLS", "HTTP2", "PushBusCrypto",
            ]
        ),
        tests(
            "APNsSimulator",
            [
                "APNsSimulator", "Contracts", "HTTP2", "TLS", "HTTPClient", "Loop", "ServiceKit",
                "PushBusCrypto",
            ]
        ),
        tests(
            "System",
            [
                "Topology", "Contracts", "Bus", "ZeroMQ", "Loop", "ServiceKit", "HTTPClient",
                "PushBusCrypto",
                "pushbus", "phone", "apns-simulator", "pushbus-registration", "pushbus-eventingest",
                "pushbus-fanout", "pushbus-delivery", "pushbus-relay",
            ]
        ),
        tests("Tidy", []),
    ].flatMap(\.self),
    swiftLanguageModes: [.v6]
)
