import Commands
import Contracts
import ServiceKit
import Topology

/// What the demo prints while it runs and at its end.
struct DemoStory: Sendable {
    let terminal: Terminal
    let start: MonotonicInstant

    /// A step, after the seconds since the start.
    func say(_ text: String) {
        let tenths = Int64(start.duration(to: SystemTime().monotonic) / .milliseconds(100))
        let clock = "\(tenths / 10).\(tenths % 10)"
        let pad = String(repeating: " ", count: max(0, 5 - clock.count))
        terminal.line("\(pad)\(clock) s  \(text)")
    }

    /// More of the same step.
    func more(_ text: String) { terminal.line("         \(text)") }

    /// A line that a phone said.
    func phone(_ name: String, _ line: PhoneWatch.Line) {
        switch line.event {
        case "banner":
            let tap = line.tap.map { "; a tap opens \($0)" } ?? ""
            more("[\(name)] \(line.title): \(line.body)\(tap)")
        case "registered": more("[\(name)] registered")
        case "repeat": more("[\(name)] a repeat, kept silent")
        case "error": more("[\(name)] trouble: \(line.message)")
        default: break
        }
    }

    func receipts(_ receipts: [ReceiptQueryAnswer.Receipt]) {
        var table = Table(ReceiptsCommand.heads, rightAligned: [5])
        for receipt in receipts { table.add(ReceiptsCommand.row(receipt)) }
        terminal.out("\nReceipts (accepted means that the simulator accepted it):\n\(table.text)")
    }

    func memory(_ processes: [(name: String, pid: Int32)]) {
        var table = Table(["process", "PSS MiB"], rightAligned: [1])
        for process in processes {
            let tenths = ProcessMemory.proportionalKiB(process.pid).map { $0 * 10 / 1024 }
            table.add([process.name, tenths.map { "\($0 / 10).\($0 % 10)" } ?? "?"])
        }
        terminal.out("\nMemory (proportional set size):\n\(table.text)")
    }

    func delays(_ delays: [Int64]) {
        guard let worst = delays.last else { return }
        terminal.line(
            "\nPublish to banner, without the outage: p50 \(delays[(delays.count - 1) / 2]) ms, "
                + "worst \(worst) ms, of \(delays.count) banners"
        )
    }
}
