#if FUZZING
/// The entry point of libFuzzer; `script/fuzz` builds this form.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    BusBodies.tryInput(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}
#else
import Contracts
import FoundationEssentials

/// Replays files as every type in both forms and as a header: a regression test of what the fuzzer ever found.
@main
enum Fuzzer {
    static func main() throws {
        var inputs = 0
        for folder in CommandLine.arguments.dropFirst() {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
                guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
                    continue
                }
                for type in BusBodies.types {
                    BusBodies.tryOne(type, .json, [UInt8](bytes))
                    BusBodies.tryOne(type, .messagePack, [UInt8](bytes))
                }
                BusBodies.tryHeader([UInt8](bytes))
                bytes.withUnsafeBytes { BusBodies.tryInput($0) }
                inputs += 1
            }
        }
        print("\(inputs) inputs replayed as \(BusBodies.types.count) types")
    }
}
#endif
