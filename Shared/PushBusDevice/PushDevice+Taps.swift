import Contracts

/// Following taps on notifications.
extension PushDevice {
    /// Follows a tap on an event that this phone has shown; the target is the one that was
    /// authenticated then, whatever has become of its key.
    package func tap(_ eventID: EventID) async throws(DeviceError) -> TapRouting.Outcome {
        let shown: ShownLog? = try environment.store.value(.shown)
        guard let target = shown?.target(of: eventID) else { return .fallback(.unknown) }
        return try await tap(target)
    }

    /// Follows a tap. It is kept until somebody is signed in; the newest tap is the one that counts.
    package func tap(_ target: TapTarget) async throws(DeviceError) -> TapRouting.Outcome {
        _ = try take(.tapped(target))
        return try await followTap() ?? .buffered
    }

    /// Follows the tap that waits, if there is one: after a launch, a sign-in or a Retry.
    package func followTap() async throws(DeviceError) -> TapRouting.Outcome? {
        let state = try state
        guard let target = state.tap?.target else { return nil }
        let outcome = await route(target, state)
        // Somebody signed out or in meanwhile: what was found is for another login.
        guard try self.state.generation == state.generation else { return .buffered }
        switch outcome {
        case .buffered, .fallback(.unreachable): break
        case .open, .fallback: _ = try take(.tapDone(target))
        }
        return outcome
    }

    /// Forgets the tap that waits.
    package func dismissTap() throws(DeviceError) {
        guard let target = try state.tap?.target else { return }
        _ = try take(.tapDone(target))
    }

    private func route(_ target: TapTarget, _ state: DeviceState) async -> TapRouting.Outcome {
        let identity = (try? state.ordinaryLogin)?.session.identity
        var step = TapRouting.first(target, signedInAs: identity)
        while true {
            switch step {
            case .done(let outcome): return outcome
            case .checkAdmin(let destination):
                let result: Result<PushSettings, DeviceError>
                do throws(DeviceError) {
                    result = .success(try await settings())
                } catch {
                    result = .failure(error)
                }
                step = TapRouting.afterAdminCheck(destination, result)
            case .look(let destination):
                let answer = await environment.targets.look(for: destination)
                step = .done(TapRouting.afterLookup(destination, answer))
            }
        }
    }
}
