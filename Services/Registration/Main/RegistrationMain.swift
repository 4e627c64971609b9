@main
enum RegistrationMain {
    static func main() {}
}
