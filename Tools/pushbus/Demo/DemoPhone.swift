import Commands
import Contracts
import FoundationEssentials
import ServiceKit
import Topology

/// One simulated phone of the demo: its process, its directory and what it says.
struct DemoPhone: Sendable {
    let name: String
    let directory: String
    let watch: PhoneWatch

    var installation: InstallationID { InstallationID("phone-of-\(name)") }

    /// The banners it has shown.
    var banners: [DemoLedger.Banner] {
        watch.lines.filter { $0.event == "banner" }.map {
            DemoLedger.Banner(
                phone: name,
                eventID: $0.isGeneric ? nil : $0.eventID,
                at: $0.at
            )
        }
    }

    /// How to start it; the pairing code goes through a file, not the command line.
    static func plan(
        _ phone: DemoPhone,
        pairing: PairingCreateAnswer,
        language: String,
        stack: Stack
    ) throws -> ProcessPlan {
        let code = "\(stack.plan.directory)/\(phone.name).code"
        guard
            FileManager.default.createFile(
                atPath: code,
                contents: Data((pairing.code.text + "\n").utf8),
                attributes: [.posixPermissions: 0o600]
            )
        else { throw CommandFailure("\(code) cannot be written", exitCode: ExitCode.files) }
        return ProcessPlan(
            name: phone.name,
            executable: "\(stack.plan.executables)/phone",
            arguments: [
                "run", "--directory", phone.directory, "--installation", phone.installation.text,
                "--simulator", stack.simulatorURL ?? "", "--server", pairing.serverURL,
                "--pair-file", code, "--language", language, "--enable", "alerts", "--json",
            ],
            output: .file(phone.watch.pipe)
        )
    }

    /// How to sign it out.
    static func signOutPlan(_ phone: DemoPhone, stack: Stack) -> ProcessPlan {
        ProcessPlan(
            name: "\(phone.name)-logout",
            executable: "\(stack.plan.executables)/phone",
            arguments: ["logout", "--directory", phone.directory],
            output: .file("\(stack.plan.directory)/\(phone.name)-logout.log")
        )
    }
}
