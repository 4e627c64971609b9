@main
enum SimulatorMain {
    static func main() {}
}
