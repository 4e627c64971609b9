@main
enum PushBusMain {
    static func main() {}
}
