#if FUZZING
/// The entry point of libFuzzer; `script/fuzz` builds this form.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    EventInputs.tryInput(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}
#else
import FoundationEssentials

/// Replays files with every reader: a regression test of what the fuzzer ever found.
@main
enum EventFuzzer {
    static func main() throws {
        var inputs = 0
        for folder in CommandLine.arguments.dropFirst() {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
                guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
                    continue
                }
                EventInputs.tryAll([UInt8](bytes))
                bytes.withUnsafeBytes { EventInputs.tryInput($0) }
                inputs += 1
            }
        }
        print("\(inputs) inputs replayed")
    }
}
#endif
