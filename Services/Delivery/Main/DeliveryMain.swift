@main
enum DeliveryMain {
    static func main() {}
}
