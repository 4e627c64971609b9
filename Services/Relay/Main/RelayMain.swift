import RelayService
import ServiceKit

/// `pushbus-relay`: holds the publisher's key and passes sealed messages on to APNs.
@main
struct RelayMain {
    static func main() async {
        await ProcessMain.run(name: "relay") { reader, context in
            try RelayAssembly.build(&reader, context)
        }
    }
}
