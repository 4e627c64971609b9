import Commands
import Contracts
import PushBusCrypto
import ServiceKit

/// `pushbus integrator …`: who may publish what.
enum IntegratorCommand {
    static let all = [add, key, list, remove]

    static let add = Command(
        "integrator add",
        "Adds an integrator, or changes what one may publish.",
        positionals: [.init("ID", "its name, for a CURVE key that of the allow-list")],
        options: [
            .value("--name", "NAME", "what people read (default: the id)"),
            .value("--sources", "LIST", "sources it may publish, such as /monitor/* (required)"),
            .value("--types", "LIST", "event types (default: org.pushbus.*)"),
            .flag("--disabled", "it may publish nothing"),
        ] + BusConnection.options,
        notes: """
            Its keys stay as they are; 'pushbus integrator key' makes one. Narrowing what it may
            publish cancels its events that are not admitted yet, and leaves those that are.

            \(PolicySession.audited)
            """
    ) { arguments in
        let id = try arguments.requiredWord("ID")
        let known = try await PolicySession.item(.integrator, id, arguments)?.integrator
        let item = try integrator(arguments, keyHashes: known?.keyHashes ?? [])
        return try await PolicySession.put(PolicyItem(item), arguments)
    }

    static func integrator(
        _ arguments: Arguments,
        keyHashes: [String]
    ) throws(UsageError) -> Integrator {
        let id = try arguments.requiredWord("ID")
        return Integrator(
            id: id,
            name: arguments.value("--name") ?? id,
            isEnabled: !arguments.has("--disabled"),
            sources: PolicySession.list(try arguments.required("--sources")),
            types: PolicySession.list(arguments.value("--types") ?? "org.pushbus.*"),
            keyHashes: keyHashes
        )
    }

    static let key = Command(
        "integrator key",
        "Makes a bearer key for an integrator and prints it, this once.",
        positionals: [.init("ID", "the integrator")],
        options: [
            .flag("--replace", "revoke its other keys"),
            .flag("--revoke", "revoke all keys and make none"),
        ] + BusConnection.options,
        notes: """
            EventIngest keeps a hash of the key alone. An integrator has at most ten keys.

            \(PolicySession.audited)
            """
    ) { arguments in
        let id = try arguments.requiredWord("ID")
        guard
            var integrator = try await PolicySession.item(.integrator, id, arguments)?.integrator
        else {
            throw CommandFailure("there is no \(id): 'pushbus integrator add' adds it")
        }
        if arguments.has("--revoke") {
            integrator.keyHashes = []
            return try await PolicySession.put(PolicyItem(integrator), arguments)
        }
        let key = makeKey(.system)
        let kept = arguments.has("--replace") ? [] : integrator.keyHashes
        integrator.keyHashes = kept + [SHA256.hex(key)]
        let change = PolicyChange(by: PolicySession.person(), put: [PolicyItem(integrator)])
        _ = try await PolicySession.change(change, arguments)
        Terminal.standard.line(key)
        return ExitCode.success
    }

    /// 256 random bits, recognisable as a key of PushBus.
    static func makeKey(_ random: RandomSource) -> String { "pbk_" + Hex.encode(random.bytes(32)) }

    static let list = Command(
        "integrator list",
        "Lists the integrators.",
        options: [.flag("--json", "print one JSON object a line")] + BusConnection.options,
        notes: ExitCode.help
    ) { arguments in
        let heads = ["id", "name", "enabled", "sources", "types", "keys"]
        return try await PolicySession.show(.integrator, heads, arguments) { item in
            item.integrator.map { one in
                [
                    one.id, one.name, one.isEnabled ? "yes" : "no",
                    one.sources.joined(separator: ","), one.types.joined(separator: ","),
                    "\(one.keyHashes.count)",
                ]
            }
        }
    }

    static let remove = Command(
        "integrator remove",
        "Removes an integrator with its keys.",
        positionals: [.init("ID", "its id")],
        options: BusConnection.options,
        notes: """
            Its events that are not admitted yet are cancelled; those that are stay. A CURVE key is
            taken off the allow-list of EventIngest besides.

            \(PolicySession.audited)
            """
    ) { arguments in
        try await PolicySession.remove(.integrator, arguments)
    }
}
