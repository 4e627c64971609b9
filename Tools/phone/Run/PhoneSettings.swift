import Commands
import Contracts
import PushBusDevice

/// What `phone run` was asked to do.
struct PhoneSettings: Sendable {
    var directory: String
    /// The name at the first start; nil lets the phone make one up.
    var installation: InstallationID?
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
        installation = try Self.installation(arguments)
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
        guard let choice = try SignInChoice.method(arguments) else { return nil }
        guard let server = choice.server else { throw UsageError("--server is missing") }
        return (choice.method, server)
    }

    /// The value of `--installation`.
    static func installation(_ arguments: Arguments) throws(UsageError) -> InstallationID? {
        try arguments.value(
            "--installation",
            "1 to 128 letters, digits, '.', '_', ':' or '-'"
        ) { text in
            let isGood =
                (1...128).contains(text.utf8.count)
                && text.utf8.allSatisfy {
                    (0x30...0x3a).contains($0) || (0x41...0x5a).contains($0)
                        || (0x61...0x7a).contains($0) || [0x2d, 0x2e, 0x5f].contains($0)
                }
            return isGood ? InstallationID(text) : nil
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
