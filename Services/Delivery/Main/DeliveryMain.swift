import DeliveryService
import ServiceKit

@main
enum DeliveryMain {
    static func main() async {
        if CommandLine.arguments.dropFirst().first == MigrateCommand.word {
            await MigrateCommand.run()
        }
        await ProcessMain.run(name: "delivery") { reader, context in
            try await DeliveryAssembly.build(try DeliverySettings(&reader), context)
        }
    }
}
