import FanoutService
import ServiceKit

@main
enum FanoutMain {
    static func main() async {
        await ProcessMain.run(name: "fanout") { reader, context in
            try await FanoutAssembly.build(&reader, context)
        }
    }
}
