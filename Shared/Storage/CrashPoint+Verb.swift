import Loop

extension CrashPoint {
    /// Says that a write has come to this moment; `verb` is the function it was called from.
    @inline(__always)
    static func reach(_ moment: StaticString, of verb: StaticString) {
        reach("\("\(verb)".prefix { $0 != "(" }) \(moment)")
    }
}
