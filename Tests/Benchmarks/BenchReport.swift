import Glibc

/// Prints results as lines for people or as JSON objects, one a line.
struct BenchReport: Sendable {
    /// What a ratio has to hold.
    enum Bar {
        case atLeast(Double)
        case atMost(Double)

        func verdict(on ratio: Double) -> String {
            switch self {
            case .atLeast(let least):
                "  (at least \(BenchReport.text(least, digits: 2)): \(ratio >= least ? "held" : "MISSED"))"
            case .atMost(let most):
                "  (at most \(BenchReport.text(most, digits: 2)): \(ratio <= most ? "held" : "MISSED"))"
            }
        }
    }

    var asJSON: Bool

    /// One result; `reference` is the reference program's value in the same unit.
    func result(
        _ name: String,
        value: Double,
        unit: String,
        reference: Double? = nil,
        ratio: Double? = nil,
        against: String = "",
        bar: Bar? = nil
    ) {
        // Block-buffered in a pipe otherwise: a supervisor wants each line at once.
        defer { fflush(nil) }
        guard asJSON else {
            let comparison = reference.map { "  \(against) \(Self.text($0))" } ?? ""
            let quotient = ratio.map { "  ratio \(Self.text($0, digits: 2))" } ?? ""
            let verdict = ratio.flatMap { bar?.verdict(on: $0) } ?? ""
            print("\(name): \(Self.text(value)) \(unit)\(comparison)\(quotient)\(verdict)")
            return
        }
        print(
            "{\"name\":\"\(name)\",\"value\":\(Self.number(value)),\"unit\":\"\(unit)\","
                + "\"reference\":\(reference.map(Self.number) ?? "null"),"
                + "\"ratio\":\(ratio.map(Self.number) ?? "null")}"
        )
    }

    /// A remark for people; left out of the JSON form.
    func note(_ text: String) {
        if !asJSON { print(text) }
        fflush(nil)
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// Large numbers without a fraction, small ones with the given digits.
    static func text(_ value: Double, digits: Int = 1) -> String {
        if value >= 1_000 { return String(Int(value.rounded())) }
        let scale = digits == 1 ? 10.0 : 100.0
        return String((value * scale).rounded() / scale)
    }

    private static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        return String((value * 1_000).rounded() / 1_000)
    }
}
