import Loop
import ServiceKit

/// A request without its (last) answer; lives on the loop's thread.
final class BusPendingRequest {
    enum Receiver {
        case once(CheckedContinuation<Result<BusReply, BusFailure>, Never>)
        case stream(BusAnswerChannel)

        func finish(_ outcome: Result<BusReply, BusFailure>) {
            switch self {
            case .once(let continuation): continuation.resume(returning: outcome)
            case .stream(let channel):
                _ = channel.trySend(outcome)
                channel.finish()
            }
        }
    }

    let id: String
    let frames: [[UInt8]]
    let resendEvery: Duration?
    let receiver: Receiver
    var peer: BusPeerSocket?
    /// Numbers of the peers that it was sent to, the only ones whose answers count.
    var asked: Set<Int> = []
    var deadline: LoopTimer?
    var resend: LoopTimer?
    var wasSent = false
    /// Not sent for the first time after this.
    var sendBy: MonotonicInstant?

    init(id: String, frames: [[UInt8]], resendEvery: Duration?, receiver: Receiver) {
        self.id = id
        self.frames = frames
        self.resendEvery = resendEvery
        self.receiver = receiver
    }
}

/// The ids of requests that wait for a window, first come first served.
struct BusRequestQueue {
    private var ids: [String] = []
    private var head = 0
    private var stale = 0

    var first: String? { head < ids.count ? ids[head] : nil }
    /// Requests that still wait.
    var count: Int { max(0, ids.count - head - stale) }

    mutating func append(_ id: String) { ids.append(id) }

    mutating func prepend(_ id: String) {
        if head > 0 {
            head -= 1
            ids[head] = id
        } else {
            ids.insert(id, at: 0)
        }
    }

    mutating func removeFirst(isStale: Bool) {
        head += 1
        if isStale { stale = max(0, stale - 1) }
        if head > 64 && head * 2 > ids.count {
            ids.removeFirst(head)
            head = 0
        }
    }

    /// Counts an id whose request ended while it waited, and sheds such ids when they are many.
    mutating func noteStale(_ isWaiting: (String) -> Bool) {
        stale += 1
        guard stale > 64, stale * 2 > ids.count - head else { return }
        ids = ids[head...].filter(isWaiting)
        head = 0
        stale = 0
    }
}
