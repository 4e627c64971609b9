import CZMQ
import Glibc
import Loop

/// The loop backend that waits for ZeroMQ sockets with `zmq_poll`, woken by an eventfd.
///
/// `zmq_poll` has none of the edge-triggered traps of `ZMQ_FD`. Interest is asked for, not
/// assumed: a socket nobody wants to read from is not read, which is what gives backpressure.
// Safety: everything but `wake()` runs on the loop's thread, which `register` and the socket's own
// check enforce; `wake()` touches only the eventfd, which is Sendable.
package final class ZeroMQPollBackend: LoopBackend, @unchecked Sendable {
    /// One socket in the poll set. Lives on the loop's thread.
    package final class Registration {
        let socket: ZeroMQSocket
        let handler: () -> Void
        /// Whether readable data shall call the handler.
        package var wantsRead: Bool
        /// Whether room for sending shall call the handler.
        package var wantsWrite = false
        fileprivate(set) var isActive = true

        init(socket: ZeroMQSocket, wantsRead: Bool, handler: @escaping () -> Void) {
            self.socket = socket
            self.wantsRead = wantsRead
            self.handler = handler
        }
    }

    private let wakeup: Eventfd
    private var registrations: [Registration] = []
    private var items: [zmq_pollitem_t] = []
    private var polled: [Registration] = []

    package init() throws(SystemCallError) {
        wakeup = try Eventfd()
    }

    /// Adds a socket; `handler` runs on the loop's thread whenever a wanted direction is ready.
    package func register(
        _ socket: ZeroMQSocket,
        wantsRead: Bool = true,
        handler: @escaping () -> Void
    ) -> Registration {
        let registration = Registration(socket: socket, wantsRead: wantsRead, handler: handler)
        registrations.append(registration)
        return registration
    }

    /// Removes a socket before it is closed; its handler is not called again.
    package func remove(_ registration: Registration) {
        registration.isActive = false
        registrations.removeAll { $0 === registration }
    }

    package func wake() { wakeup.wake() }

    package func wait(atMost timeout: Duration?) {
        items.removeAll(keepingCapacity: true)
        polled.removeAll(keepingCapacity: true)
        items.append(
            zmq_pollitem_t(
                socket: nil,
                fd: wakeup.fd,
                events: Int16(ZMQ_POLLIN),
                revents: 0
            )
        )
        for registration in registrations {
            let events =
                (registration.wantsRead ? ZMQ_POLLIN : 0)
                | (registration.wantsWrite ? ZMQ_POLLOUT : 0)
            guard events != 0, let handle = try? registration.socket.live("poll") else { continue }
            items.append(zmq_pollitem_t(socket: handle, fd: 0, events: Int16(events), revents: 0))
            polled.append(registration)
        }
        let ready = zmq_poll(&items, Int32(items.count), Self.milliseconds(timeout))
        guard ready > 0 else { return }
        if items[0].revents != 0 { wakeup.drain() }
        for (index, registration) in polled.enumerated()
        where items[index + 1].revents != 0 && registration.isActive {
            registration.handler()
        }
    }

    /// The timeout rounded up, so that a timer is never polled for before it is due.
    private static func milliseconds(_ timeout: Duration?) -> Int {
        guard let timeout else { return -1 }
        let (seconds, attoseconds) = timeout.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let whole = Int(clamping: seconds).multipliedReportingOverflow(by: 1000)
        guard !whole.overflow, whole.partialValue < Int(Int32.max) else { return Int(Int32.max) }
        let part = Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
        return whole.partialValue + part
    }
}
