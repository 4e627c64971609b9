import DeliveryService
import ServiceKit

@main
enum DeliveryMain {
    static func main() async {
        await ProcessMain.run(name: "delivery") { reader, context in
            try await DeliveryAssembly.build(try DeliverySettings(&reader), context)
        }
    }
}
