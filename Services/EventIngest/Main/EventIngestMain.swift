import EventIngestService
import ServiceKit

/// `pushbus-eventingest`: admits events and hands them on until they are fanned out.
@main
struct EventIngestMain {
    static func main() async {
        await ProcessMain.run(name: "eventingest") { reader, context in
            let settings = try EventIngestSettings(&reader)
            return try await EventIngestAssembly.build(settings, context)
        }
    }
}
