import Contracts
import Loop
import PushBusCrypto
import RegistrationCore
import ServiceKit

/// Seals content keys and secrets of one-time codes before they are stored, and opens them again.
///
/// While the master key is replaced it opens what either key has sealed.
package final class ContentKeyVault: Sendable {
    /// The only thing that can be wrong with a stored key; carries nothing of it.
    package struct Unreadable: Error {}

    private struct State {
        var current: SecretBytes
        var previous: SecretBytes?
        /// Grows with each replacement.
        var epoch: Int64 = 0
        /// How many are between sealing and storing, by the epoch whose key they use.
        var sealing: [Int64: Int] = [:]
    }

    /// Signalled when nothing is on its way any more that a key before the current one has sealed.
    let previousIsFree = WakeSignal()
    private let state: Locked<State>
    private let nonce: @Sendable () -> [UInt8]

    /// Uses a master key of 32 bytes, and one before it for what is still under that; `nonce` gives
    /// 12 fresh random bytes each time.
    package init(
        master: SecretBytes,
        previous: SecretBytes? = nil,
        nonce: @escaping @Sendable () -> [UInt8] = { SecureRandom.bytes(AESGCM.nonceBytes) }
    ) {
        state = Locked(State(current: master, previous: previous))
        self.nonce = nonce
    }

    /// Lends the current key until what it seals has been stored: a key is not given up before.
    package func sealing<Value>(_ body: (Sealer) async throws -> Value) async throws -> Value {
        let (sealer, epoch) = state.withLock { state -> (Sealer, Int64) in
            state.sealing[state.epoch, default: 0] += 1
            return (Sealer(key: state.current, nonce: nonce), state.epoch)
        }
        defer {
            let isLastOfBefore = state.withLock { state -> Bool in
                let left = (state.sealing[epoch] ?? 1) - 1
                state.sealing[epoch] = left > 0 ? left : nil
                return left <= 0 && epoch < state.epoch
            }
            if isLastOfBefore { previousIsFree.signal() }
        }
        return try await body(sealer)
    }

    /// The key again, unless it was sealed under another master key or for somebody else.
    package func open(
        _ sealed: Blob,
        id: KeyID,
        of installation: InstallationID
    ) throws(Unreadable) -> ContentKey {
        let bytes = try open(sealed, Sealer.context(id, installation))
        guard let key = ContentKey(bytes) else { throw Unreadable() }
        return key
    }

    package func openSecret(_ sealed: Blob, of username: String) throws(Unreadable) -> SecretBytes {
        SecretBytes(try open(sealed, Sealer.context(username)))
    }

    /// Equal for equal keys of an id; tells nothing of the key, which is random.
    package static func digest(_ key: ContentKey, id: KeyID) -> Blob {
        Blob(SHA256.hash(Array("PushBus.ContentKey.digest.v1|\(id)|".utf8) + key.bytes))
    }

    private func open(_ sealed: Blob, _ context: [UInt8]) throws(Unreadable) -> [UInt8] {
        let (current, previous) = state.withLock { ($0.current, $0.previous) }
        for key in [current, previous] {
            guard let key, let bytes = Sealer.open(sealed, key, context) else { continue }
            return bytes
        }
        throw Unreadable()
    }

    // MARK: Replacing the master key

    /// Seals with another key from now on and goes on opening what the one before has sealed.
    func replace(by next: SecretBytes) {
        state.withLock { state in
            state.previous = state.current
            state.current = next
            state.epoch += 1
        }
    }

    /// Whether something that a key before this one has sealed may still be on its way to the store.
    var isPreviousInUse: Bool {
        state.withLock { state in state.sealing.keys.contains { $0 < state.epoch } }
    }

    /// The secret under the current key, nil when it is under it already.
    func reseal(_ secret: SealedSecret) throws -> Blob? {
        let context =
            switch secret.place {
            case .contentKey(let installation):
                secret.keyID.map { Sealer.context($0, installation) } ?? []
            case .oneTimeCodes(let username): Sealer.context(username)
            }
        let (current, previous) = state.withLock { ($0.current, $0.previous) }
        if Sealer.open(secret.sealed, current, context) != nil { return nil }
        guard let previous, let bytes = Sealer.open(secret.sealed, previous, context) else {
            throw Unreadable()
        }
        return try Sealer(key: current, nonce: nonce).seal(bytes, context)
    }
}
