@main
enum BenchMain {
    static func main() {}
}
