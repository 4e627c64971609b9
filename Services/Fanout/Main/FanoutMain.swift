@main
enum FanoutMain {
    static func main() {}
}
