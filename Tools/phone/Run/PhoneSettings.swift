import Commands
import Contracts
import PushBusDevice

/// What `phone run` was asked to do.
struct PhoneSettings: Sendable {
    var directory: String
    var installation: InstallationID
    var simulator: String
    var environment: APNsEnvironment
    var language: Language
    var profile: AppProfile
    /// How to sign in when nobody is signed in yet; nil continues a login that is there.
    var signIn: (method: SignIn, server: ServerAddress)?
    /// Categories to switch on; nil leaves the preferences as they are.
    var enable: Set<Category>?
    var rotatesKey: Bool
    var asJSON: Bool
}

extension PhoneSettings {
    init(_ arguments: Arguments) throws {
        directory = try arguments.required("--directory")
        installation = InstallationID(try arguments.required("--installation"))
        guard installation.isWellFormed else {
            throw UsageError("--installation must be 1 to 512 bytes without control characters")
        }
        simulator = try arguments.required("--simulator")
        guard simulator.hasPrefix("http://127.0.0.1:"), !simulator.hasSuffix("/") else {
            throw UsageError("--simulator must be http://127.0.0.1:PORT")
        }
        environment =
            try arguments.value(
                "--environment",
                "sandbox or production",
                APNsEnvironment.init(rawValue:)
            ) ?? .sandbox
        language =
            try arguments.value("--language", "en or zh-Hans", Language.init(rawValue:))
            ?? .english
        profile = try arguments.value("--profile").map(Self.profile) ?? .reference
        signIn = try Self.signIn(arguments)
        enable = try arguments.value("--enable").map(Self.categories)
        rotatesKey = arguments.has("--rotate-key")
        asJSON = arguments.has("--json")
    }

    private static func signIn(
        _ arguments: Arguments
    ) throws -> (method: SignIn, server: ServerAddress)? {
        let method: SignIn
        var code = arguments.value("--pair")
        if let file = arguments.value("--pair-file") {
            guard code == nil else { throw UsageError("--pair and --pair-file exclude each other") }
            code = try InputFile.password(file: file)
        }
        switch (code, arguments.value("--login")) {
        case (nil, nil): return nil
        case (let code?, nil): method = .pairing(code: Password(code))
        case (nil, let username?):
            let file = arguments.value("--password-file")
            method = .password(username: username, Password(try InputFile.password(file: file)))
        default: throw UsageError("--pair and --login exclude each other")
        }
        do throws(DeviceError) {
            return (method, try ServerAddress(try required(arguments)))
        } catch {
            throw UsageError("--server: \(error.message)")
        }
    }

    private static func profile(_ file: String) throws(CommandFailure) -> AppProfile {
        let bytes = try InputFile.read(file, limit: 64 << 10)
        do throws(ContractViolation) {
            return try AppProfile(parsing: bytes)
        } catch {
            throw CommandFailure("\(file): \(error)", exitCode: ExitCode.configuration)
        }
    }

    private static func required(_ arguments: Arguments) throws(DeviceError) -> String {
        guard let server = arguments.value("--server") else {
            throw DeviceError(.address, "is missing")
        }
        return server
    }

    /// Reads a comma list of `alerts`, `security`, `task_failure` and `task_success`.
    static func categories(_ text: String) throws(UsageError) -> Set<Category> {
        var categories: Set<Category> = []
        for word in text.split(separator: ",") {
            switch word {
            case "alerts": categories.insert(.alert)
            case "security": categories.insert(.security)
            case "task_failure": categories.insert(.taskFailure)
            case "task_success": categories.insert(.taskSuccess)
            default:
                throw UsageError(
                    "--enable takes alerts, security, task_failure and task_success, not '\(word)'"
                )
            }
        }
        return categories
    }
}

extension PushPreferences {
    /// Push on, with exactly these categories.
    init(enabling categories: Set<Category>) {
        self.init(
            enabled: true,
            alerts: categories.contains(.alert),
            security: categories.contains(.security),
            taskFailure: categories.contains(.taskFailure),
            taskSuccess: categories.contains(.taskSuccess)
        )
    }
}
