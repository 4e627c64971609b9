import APNsSimulator
import ServiceKit

@main
enum SimulatorMain {
    static func main() async {
        await ProcessMain.run(name: "simulator") { reader, context in
            try await APNsSimulator.assemble(&reader, context)
        }
    }
}
