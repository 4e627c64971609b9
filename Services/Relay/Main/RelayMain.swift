@main
enum RelayMain {
    static func main() {}
}
