import APNsSimulator
import ServiceKit

@main
enum SimulatorMain {
    static func main() async {
        await ProcessMain.run(name: "simulator", program: "apns-simulator") { reader, context in
            try await APNsSimulator.assemble(&reader, context)
        }
    }
}
