import Contracts
import Loop
import PushBusCrypto
import RegistrationCore
import ServiceKit

/// Puts everything that is sealed under a new master key while the service goes on.
///
/// A rotation that a stop or crash has interrupted goes on at the next start.
package final class MasterKeyRotation: Service {
    /// How far it is.
    package struct Progress: Hashable, Sendable {
        /// Whether a rotation is wanted or under way.
        package var isRunning = false
        /// Secrets that were put under the new key, in the rotation under way or the last one.
        package var resealed: Int64 = 0
        /// Secrets that neither key opens; they stay as they are.
        package var unreadable: Int64 = 0
        /// Why it does not get on; it tries again by itself.
        package var trouble: String?
    }

    package let name = "master-key-rotation"
    /// Secrets of one transaction.
    private let batch: Int
    /// It looks at least this often whether the last request with the old key has been stored.
    private static let pause = Duration.seconds(1)

    private let store: any SealedStore
    private let vault: ContentKeyVault
    private let file: MasterKeyFile
    private let time: any TimeSource
    private let random: RandomSource
    private let log: Log
    private let progressBox = Locked(Progress())
    private let bell = BoundedChannel<Bool>(capacity: 1)

    /// `isInterrupted` says that the vault has both keys of a rotation that was not finished.
    init(
        store: any SealedStore,
        vault: ContentKeyVault,
        file: MasterKeyFile,
        isInterrupted: Bool,
        batch: Int = 256,
        time: any TimeSource,
        random: RandomSource,
        log: Log
    ) {
        self.store = store
        self.vault = vault
        self.file = file
        self.batch = batch
        self.time = time
        self.random = random
        self.log = log
        if isInterrupted {
            progressBox.withLock { $0.isRunning = true }
            _ = bell.trySend(true)
        }
    }

    package var progress: Progress { progressBox.withLock { $0 } }

    /// Begins a rotation; false when one is under way.
    package func begin() -> Bool {
        let isNew = progressBox.withLock { progress -> Bool in
            guard !progress.isRunning else { return false }
            progress = Progress(isRunning: true)
            return true
        }
        if isNew { _ = bell.trySend(false) }
        return isNew
    }

    package func run(until stop: StopSignal) async throws {
        await withTaskGroup { group in
            group.addTask { await self.rotateWhenAsked() }
            await stop.wait()
            group.cancelAll()
        }
    }

    private func rotateWhenAsked() async {
        let backoff = Backoff(base: .seconds(1), cap: .seconds(60))
        while let isResumed = await bell.next() {
            var hasKey = isResumed
            var failures = 0
            while !Task.isCancelled {
                do {
                    if !hasKey {
                        vault.replace(by: try file.readOrCreateNext())
                        hasKey = true
                    }
                    try await resealAll()
                    try file.finishReplacement()
                    break
                } catch {
                    if Task.isCancelled { return }
                    failures += 1
                    progressBox.withLock { $0.trouble = "\(error)" }
                    log.error("master key not replaced yet", ["error": .error(error)])
                    let delay = backoff.delay(attempt: failures, random: random)
                    try? await time.sleep(for: delay)
                }
            }
            if Task.isCancelled { return }
            let done = progressBox.withLock { progress -> Progress in
                progress.isRunning = false
                progress.trouble = nil
                return progress
            }
            log.info(
                "master key replaced",
                ["resealed": .int(done.resealed), "unreadable": .int(done.unreadable)]
            )
        }
    }

    /// Goes through everything once, after the last request that uses the old key has been stored:
    /// what comes later is under the new key.
    private func resealAll() async throws {
        while vault.isPreviousInUse {
            await vault.previousIsFree.wait(atMost: Self.pause, time: time)
            try Task.checkCancellation()
        }
        progressBox.withLock { $0.unreadable = 0 }
        var place: SealedSecret.Place?
        while true {
            let secrets = try await store.sealedSecrets(after: place, limit: batch)
            guard let last = secrets.last else { return }
            try Task.checkCancellation()
            var changes: [Resealing] = []
            var unreadable: Int64 = 0
            for secret in secrets {
                do {
                    guard let sealed = try vault.reseal(secret) else { continue }
                    changes.append(Resealing(old: secret, sealed: sealed))
                } catch is ContentKeyVault.Unreadable {
                    unreadable += 1
                }
            }
            let count = changes.isEmpty ? 0 : try await store.reseal(changes)
            progressBox.withLock { progress in
                progress.resealed += Int64(count)
                progress.unreadable += unreadable
                progress.trouble = nil
            }
            place = last.place
        }
    }
}
