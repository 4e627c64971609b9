@main
enum EventIngestMain {
    static func main() {}
}
