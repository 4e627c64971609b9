/// The watermark of events that come now, so that it can be committed with them.
///
/// One question serves all who came before it was asked: the first asks, the others wait, and one of
/// those who came meanwhile asks next. While Registration is silent nobody waits for it.
package actor PromptWatermark {
    /// How long an event waits for its watermark before it is committed without one.
    package static let limit = Duration.milliseconds(100)

    private enum Word: Sendable {
        case ask
        case answer(Int64?)
    }

    private let registration: any WatermarkSource
    private var isAsking = false
    private var isSilent = false
    private var waiting: [CheckedContinuation<Word, Never>] = []

    /// How many wait for the answer to a question of somebody else.
    package var waitingCount: Int { waiting.count }

    package init(_ registration: any WatermarkSource) { self.registration = registration }

    /// The counter as it was at some moment after the call; nil when there was no answer in time.
    package func value() async -> Int64? {
        if isSilent { return nil }
        if isAsking {
            let word = await withCheckedContinuation { waiting.append($0) }
            if case .answer(let value) = word { return value }
        }
        isAsking = true
        let others = waiting
        waiting = []
        let value = try? await registration.watermark(within: Self.limit)
        isSilent = value == nil
        for other in others { other.resume(returning: .answer(value)) }
        if isSilent {
            for other in waiting { other.resume(returning: .answer(nil)) }
            waiting = []
        }
        if waiting.isEmpty {
            isAsking = false
        } else {
            waiting.removeFirst().resume(returning: .ask)
        }
        return value
    }

    /// Registration has answered somebody else: from now on it is waited for again.
    package func heard() { isSilent = false }
}
