import Commands
import Contracts
import FoundationEssentials
import Glibc
import Loop
import ServiceKit
import Topology

/// The demo as the one service of its process: plays, prints, cleans up, asks for the end.
struct DemoService: Service {
    let name = "demo"
    let executables: String
    let terminal: Terminal
    /// Raised when the demo is over.
    let ending: StopSignal
    let exitCode = Locked(ExitCode.failure)

    /// The whole demo is given up after this time.
    static let limit = Duration.seconds(58)

    func run(until stop: StopSignal) async throws {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await demo(until: stop)
                return true
            }
            group.addTask {
                await stop.wait()
                return false
            }
            group.addTask {
                if (try? await SystemTime().sleep(for: Self.limit)) != nil {
                    terminal.error("demo: not over after \(Self.limit.components.seconds) s\n")
                }
                return false
            }
            let isPlayed = await group.next() ?? false
            if !isPlayed { exitCode.withLock { $0 = ExitCode.failure } }
            // The demo cleans up when it is cancelled; the group waits for that.
            group.cancelAll()
        }
        ending.trigger()
        await stop.wait()
    }

    private func demo(until stop: StopSignal) async {
        let story = DemoStory(terminal: terminal, start: SystemTime().monotonic)
        terminal.out(Self.opening)
        let directory: String
        do {
            directory = try Self.temporaryDirectory()
        } catch {
            return terminal.error("demo: \(error)\n")
        }
        var ledger: DemoLedger?
        do {
            ledger = try await play(in: directory, story)
        } catch {
            if Task.isCancelled {
                terminal.error("demo: stopped\n")
            } else {
                terminal.error("demo: failed: \(error)\n")
            }
        }
        let result = ledger?.result
        if result?.isPerfect == true { exitCode.withLock { $0 = ExitCode.success } }
        if result?.isPerfect == true || stop.isTriggered {
            try? FileManager.default.removeItem(atPath: directory)
        } else {
            terminal.error("demo: logs are in \(directory)\n")
        }
        if let result {
            if result.unexpected > 0 {
                terminal.error("demo: \(result.unexpected) unexpected banners\n")
            }
            terminal.line(result.line)
        }
    }

    /// Starts everything, plays, and stops everything whatever happened.
    private func play(in directory: String, _ story: DemoStory) async throws -> DemoLedger {
        let ports = try FreePort.take(4)
        var plan = StackPlan(
            directory: directory,
            executables: executables,
            http: "127.0.0.1:\(ports[0])"
        )
        plan.simulator = .init(control: ports[1], sandbox: ports[2], production: ports[3])
        story.say("Five services and the APNs simulator start in \(directory).")
        let log = Log(level: .error)
        let stack = try await Stack.start(plan, log: log)
        let phones: Supervisor
        do { phones = try Supervisor(log: log) } catch {
            await stack.stop()
            throw error
        }
        var outcome: Result<DemoLedger, any Error>
        do {
            outcome = .success(try await play(stack, phones, story))
        } catch {
            outcome = .failure(error)
        }
        await phones.stopAll()
        await stack.stop()
        if case .success = outcome { story.say("Everything has been stopped.") }
        return try outcome.get()
    }

    private func play(
        _ stack: Stack,
        _ phones: Supervisor,
        _ story: DemoStory
    ) async throws -> DemoLedger {
        func phone(_ name: String) throws -> DemoPhone {
            DemoPhone(
                name: name,
                directory: "\(stack.plan.directory)/phone-\(name)",
                watch: try PhoneWatch(
                    phone: name,
                    pipe: "\(stack.plan.directory)/phone-\(name).pipe",
                    onLine: { story.phone(name, $0) }
                )
            )
        }
        let connection = BusConnection(directory: stack.plan.directory, timeout: .seconds(10))
        let bus = try BusSession(connection)
        defer { bus.stop() }
        let script = DemoScript(
            stack: stack,
            bus: bus,
            phones: phones,
            alice: try phone("alice"),
            bob: try phone("bob"),
            story: story
        )
        var ledger = try await script.play()
        var receipts: [ReceiptQueryAnswer.Receipt] = []
        try await ReceiptsCommand.forEach(ReceiptQuery(), in: bus) { receipts.append($0) }
        story.receipts(receipts)
        story.memory(processes(stack, phones))
        story.delays(ledger.delays)
        // Counted after the phones have ended, so that nothing can come any more.
        for name in phones.names.reversed() { await phones.stop(name) }
        for phone in [script.alice, script.bob] { await phone.watch.waitForEnd() }
        ledger.banners = script.alice.banners + script.bob.banners
        return ledger
    }

    private func processes(_ stack: Stack, _ phones: Supervisor) -> [(name: String, pid: Int32)] {
        var all: [(String, Int32)] = []
        for (supervisor, label) in [
            (stack.services.supervisor, ""), (stack.simulator, ""), (phones, "phone "),
        ] {
            for name in supervisor?.names ?? [] {
                if let pid = supervisor?.processID(of: name) { all.append((label + name, pid)) }
            }
        }
        return all
    }

    private static func temporaryDirectory() throws(CommandFailure) -> String {
        // Below /tmp, because the path of a socket has at most 107 bytes.
        var template = Array("/tmp/pushbus-demo.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandFailure("no directory can be made in /tmp", exitCode: ExitCode.files)
        }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static let opening = """
        PushBus demo. This is simulator evidence only: a simulated APNs and headless phones on this
        machine. Apple's sandbox and production, acceptance of signing keys, presentation on real
        phones, Keychain sharing and signed upgrades are NOT RUN.


        """
}
