import Commands
import Contracts
import HTTPClient
import Loop
import PushBusDevice
import ServiceKit

/// A running phone: keeps its line to the simulator, its login and its registration.
struct Phone: Service {
    let name = "phone"
    let settings: PhoneSettings
    let store: FileStore
    let device: PushDevice
    let system: PhoneSystem
    let simulator: SimulatorClient
    let report: PhoneReport
    let time: any TimeSource
    let random: RandomSource
    /// Raised when the phone ends by itself.
    let ending: StopSignal
    let exitCode = Locked(ExitCode.success)
    let line = LineRecovery()
    /// The phone is always in the foreground: one banner an event.
    let presenter = Locked(ForegroundPresenter())

    /// How often login and registration are looked after.
    static let careInterval = Duration.seconds(300)

    private static let backoff = Backoff(base: .milliseconds(500), cap: .seconds(15))

    func run(until stop: StopSignal) async throws {
        let listening = StopSignal()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await life(listening) }
            group.addTask { await stop.wait() }
            await group.next()
            ending.trigger()
            group.cancelAll()
        }
        // Only the group may say that it is over.
        await stop.wait()
        report.say("stopped", "stopped")
    }

    private func life(_ listening: StopSignal) async {
        do {
            try await signIn()
            let state = try await token()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await listen(state, listening) }
                group.addTask {
                    await listening.wait()
                    await care()
                }
                group.addTask { await device.follow(line) }
            }
        } catch is CancellationError {
        } catch {
            report.trouble(error)
            exitCode.withLock { $0 = ExitCode.failure }
        }
    }

    // MARK: Login

    private func signIn() async throws {
        let status = try await device.status
        if case .signedIn(let user, let server) = status.account {
            if let wanted = settings.signIn?.server.text, wanted != server {
                throw CommandFailure("signed in at \(server): run 'phone logout' first")
            }
            sayAccount(user, "still signed in")
            return
        }
        if case .lost = status.account { throw DeviceError.recoverSession }
        guard let signIn = settings.signIn else {
            throw CommandFailure("nobody is signed in: give --server with --pair or --login")
        }
        try await again { () throws(DeviceError) in
            try await device.signIn(
                signIn.method,
                at: signIn.server,
                deviceName: "headless phone \(device.installationID)"
            )
        }
        if case .signedIn(let user, _) = try await device.status.account {
            sayAccount(user, "signed in")
        }
    }

    private func sayAccount(_ user: UserID, _ what: String) {
        report.say("signed_in", "\(what) as \(user)", ["user_id": .string(user.text)])
    }

    /// Tries until it works or cannot work.
    private func again(_ body: () async throws(DeviceError) -> Void) async throws {
        var attempt = 0
        while true {
            do throws(DeviceError) {
                return try await body()
            } catch {
                guard error.isRetriable else { throw error }
                try await wait(after: error, &attempt)
            }
        }
    }

    private func wait(after error: any Error, _ attempt: inout Int) async throws {
        try Task.checkCancellation()
        var wait = Self.backoff.delay(attempt: attempt, random: random)
        if let seconds = (error as? DeviceError)?.retryAfterSeconds {
            wait = max(wait, .seconds(min(seconds, 60)))
        }
        report.trouble(error, retryIn: wait)
        attempt += 1
        try await time.sleep(for: wait)
    }

    // MARK: Token and registration

    /// The token that the phone's system has from its first start on.
    private func token() async throws -> PhoneState {
        var attempt = 0
        while true {
            do throws(DeviceTokenFailure) {
                _ = try await system.token()
            } catch {
                try await wait(after: error, &attempt)
                continue
            }
            guard let state = try PhoneState.load(store) else { continue }
            return state
        }
    }

    /// Enrolls, then looks after login and registration until cancelled.
    private func care() async {
        do {
            if let trouble = try await device.reconcile(.launch) { report.trouble(trouble) }
            try await enroll()
            while true {
                try await time.sleep(for: Self.careInterval)
                try await device.reconcile(.foreground)
                guard try await isSignedIn() else { return }
            }
        } catch is CancellationError {
        } catch {
            report.trouble(error)
            if (try? await isSignedIn()) ?? true {
                exitCode.withLock { $0 = ExitCode.failure }
                ending.trigger()
            }
        }
    }

    /// Says so when the login is over. The phone itself goes on: pushes show the generic text then.
    private func isSignedIn() async throws(DeviceError) -> Bool {
        switch try await device.status.account {
        case .signedIn: return true
        case .signedOut:
            report.say("signed_out", TextTable(settings.language)[.statusEnded])
        case .lost:
            report.say("lost", TextTable(settings.language)[.errorRecoverSession])
        }
        return false
    }

    /// Shows the disclosure, then chooses; what fails for a while is tried again.
    private func enroll() async throws {
        if let categories = settings.enable {
            report.disclose(settings.language)
            try await persist { () throws(DeviceError) in try await device.disclosureShown() }
            try await persist { () throws(DeviceError) in
                try await device.choose(PreferenceChanges(PushPreferences(enabling: categories)))
            }
        }
        if settings.rotatesKey {
            try await persist { () throws(DeviceError) in try await device.rotateKey() }
        }
        switch try await device.status.registration {
        case .registered, .undeliverable:
            report.say("registered", TextTable(settings.language)[.statusRegistered])
        case .off, .waiting: break
        case .failed(let code):
            throw DeviceError(code, TextTable(settings.language).message(for: code))
        }
    }

    /// Does it, and then presses Retry until it worked or cannot work.
    private func persist(_ body: () async throws(DeviceError) -> Void) async throws {
        var isFirst = true
        try await again { () throws(DeviceError) in
            if isFirst {
                isFirst = false
                try await body()
            } else {
                try await device.retry()
            }
        }
    }

    // MARK: Pushes

    private func listen(_ state: PhoneState, _ listening: StopSignal) async {
        let token = state.token
        var state = state
        var attempt = 0
        let receiver = NotificationReceiver(
            opener: NotificationOpener(profile: settings.profile, language: settings.language),
            store: store
        )
        while !Task.isCancelled {
            do {
                try await simulator.renew(token)
                let items = BoundedChannel<SimulatorClient.Item>(capacity: 256)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        defer { items.finish() }
                        try await simulator.stream(token, into: items)
                    }
                    while let item = await items.next() {
                        attempt = 0
                        try await take(item, &state, receiver, listening)
                    }
                    try await group.waitForAll()
                }
            } catch {
                if Task.isCancelled { return }
                report.say("disconnected", "(line to the simulator lost)")
                do { try await wait(after: error, &attempt) } catch { return }
            }
        }
    }

    private func take(
        _ item: SimulatorClient.Item,
        _ state: inout PhoneState,
        _ receiver: NotificationReceiver,
        _ listening: StopSignal
    ) async throws {
        switch item {
        case .push(let push): try open(push, &state, receiver)
        case .listening(let run):
            report.say("listening", "listening at \(simulator.address)")
            // What came while the line was down; a repeat of it on the line stays silent.
            if listening.isTriggered { line.lineIsBack() }
            let last = state.resume(in: run)
            try state.save(store)
            if let last {
                for push in try await simulator.received(state.token, after: last) {
                    try open(push, &state, receiver)
                }
            }
            listening.trigger()
        }
    }

    private func open(
        _ push: SimulatorClient.Push,
        _ state: inout PhoneState,
        _ receiver: NotificationReceiver
    ) throws {
        let opening = receiver.receive(payload: push.payload, now: time.wall.second)
        let recipient: Recipient? = try? store.value(.recipient)
        let presents = presenter.withLock { $0.presents(opening, deliveryID: push.apnsID) }
        if presents || opening.isSilent {
            report.show(opening, apnsID: push.apnsID, identity: recipient?.identity)
        }
        state.lastPush = push.number
        try state.save(store)
    }
}
