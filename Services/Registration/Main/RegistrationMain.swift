import RegistrationService
import ServiceKit

@main
enum RegistrationMain {
    static func main() async {
        await ProcessMain.run(name: "registration", build: RegistrationAssembly.build)
    }
}
