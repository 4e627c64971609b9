@main
enum PhoneMain {
    static func main() {}
}
