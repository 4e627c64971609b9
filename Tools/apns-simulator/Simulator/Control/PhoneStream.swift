import Contracts
import HTTPServer
import Loop
import PushBusCrypto

/// Server-sent events of what one token receives, as long as a phone listens.
///
/// The first event is `listening` with the run of the simulator; after it nothing is lost until the phone leaves. A phone that
/// reads too slowly loses what does not fit into its queue, as a real one loses stored messages.
struct PhoneStream: Sendable {
    let state: SimulatorState
    let key: DeviceRegistry.Key
    /// A comment is sent this often, so that a phone that left is noticed.
    var heartbeat: Duration = .seconds(10)

    func run(_ writer: HTTPStreamWriter) async {
        let queue = BoundedChannel<[UInt8]>(capacity: 1_000)
        let id = state.content.withLock { content in
            content.registry.listen(key, at: content.now) {
                _ = queue.trySend(Self.event(for: $0))
            }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                guard await writer.write(Self.event("listening", #"{"run":"\#(state.run)"}"#))
                else { return }
                while let event = await queue.next() {
                    guard await writer.write(event) else { break }
                }
            }
            group.addTask {
                while (try? await Task.sleep(for: heartbeat)) != nil {
                    guard await writer.write(Array(": still here\n\n".utf8)) else { break }
                }
            }
            // Whichever sees first that the phone is gone ends the other.
            await group.next()
            queue.finish()
            group.cancelAll()
        }
        state.content.withLock { $0.registry.stopListening(key, id) }
    }

    private static func event(for notification: ReceivedNotification) -> [UInt8] {
        var json = CompactJSON()
        notification.write(to: &json)
        return event("notification", json.text, id: notification.number)
    }

    private static func event(_ name: String, _ data: String, id: UInt64? = nil) -> [UInt8] {
        let number = id.map { "id: \($0)\n" } ?? ""
        return Array("\(number)event: \(name)\ndata: \(data)\n\n".utf8)
    }
}
