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
    let simulator: SimulatorClient
    let report: PhoneReport
    let time: any TimeSource
    let random: RandomSource
    /// Raised when the phone ends by itself.
    let ending: StopSignal
    let exitCode = Locked(ExitCode.success)

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
                    await care(state.token)
                }
            }
        } catch is CancellationError {
        } catch {
            report.trouble(error)
            exitCode.withLock { $0 = ExitCode.failure }
        }
    }

    // MARK: Login

    private func signIn() async throws {
        if let account = await device.account {
            if let wanted = settings.signIn?.server.text, wanted != account.server {
                throw CommandFailure("signed in at \(account.server): run 'phone logout' first")
            }
            sayAccount(account.userID, "still signed in")
            return
        }
        guard let signIn = settings.signIn else {
            throw CommandFailure("nobody is signed in: give --server with --pair or --login")
        }
        try await again { () throws(DeviceError) in
            try await device.signIn(
                signIn.method,
                at: signIn.server,
                deviceName: "headless phone \(settings.installation)"
            )
        }
        if let account = await device.account { sayAccount(account.userID, "signed in") }
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

    private func token() async throws -> PhoneState {
        if let state = try PhoneState.load(store), state.environment == settings.environment {
            return state
        }
        var attempt = 0
        while true {
            do {
                let state = PhoneState(
                    token: try await simulator.issueToken(),
                    environment: settings.environment
                )
                try state.save(store)
                return state
            } catch let failure as SimulatorClient.Failure {
                try await wait(after: failure, &attempt)
            }
        }
    }

    /// Registers, then looks after login and registration until cancelled.
    private func care(_ token: DeviceToken) async {
        do {
            try await again { () throws(DeviceError) in try await enroll(token) }
            while true {
                try await time.sleep(for: Self.careInterval)
                try await again { () throws(DeviceError) in
                    let confirmed = try await device.settings()
                    if confirmed.preferences.enabled && !confirmed.registered {
                        try await register(token, newKey: false)
                    }
                }
            }
        } catch is CancellationError {
        } catch {
            report.trouble(error)
            let code = (error as? DeviceError)?.code
            if code == .unauthorized || code == .signedOut {
                // The phone itself goes on: pushes show the generic text from here on.
                report.say("signed_out", "signed out by the server")
            } else {
                exitCode.withLock { $0 = ExitCode.failure }
                ending.trigger()
            }
        }
    }

    private func enroll(_ token: DeviceToken) async throws(DeviceError) {
        if let categories = settings.enable {
            let wanted = PushPreferences(enabling: categories)
            _ = try await device.change { $0 = wanted }
        }
        try await register(token, newKey: settings.rotatesKey)
    }

    private func register(_ token: DeviceToken, newKey: Bool) async throws(DeviceError) {
        try await device.register(token: token, apns: settings.environment, newKey: newKey)
        report.say("registered", TextTable(settings.language)[.statusRegistered])
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
        report.show(opening, apnsID: push.apnsID, identity: recipient?.identity)
        state.lastPush = push.number
        try state.save(store)
    }
}
