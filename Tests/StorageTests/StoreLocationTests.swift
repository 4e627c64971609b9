import ServiceKit
import Storage
import Testing

@Suite struct StoreLocationTests {
    private func read(_ values: [String: String]) throws -> (StoreLocation?, String) {
        var reader = EnvironmentReader(prefix: "PUSHBUS_X_", values: values)
        let address = reader.storeLocation(help: "where it is")
        let printed = reader.printed()
        try reader.finish()
        return (address, printed)
    }

    @Test func takesAFileOrAServer() throws {
        let (file, shown) = try read(["PUSHBUS_X_STORE": "sqlite:/var/lib/x.db"])
        #expect(file?.description == "sqlite:/var/lib/x.db")
        #expect(shown.contains("PUSHBUS_X_STORE=sqlite:/var/lib/x.db\n"))
        let url = "postgresql://me:geheim@%2Frun%2Fpostgresql/push"
        let (server, printed) = try read(["PUSHBUS_X_STORE": url])
        #expect(server?.description == "postgresql://me@/run/postgresql/push")
        #expect(printed.contains("PUSHBUS_X_STORE=postgresql://me@/run/postgresql/push\n"))
        #expect(!printed.contains("geheim"))
    }

    @Test(arguments: ["", "/var/lib/x.db", "sqlite:x.db", "sqlite:/", "postgresql://me@far/push"])
    func refusesWhatIsNoStore(_ text: String) throws {
        #expect(throws: ConfigurationErrors.self) { try read(["PUSHBUS_X_STORE": text]) }
    }
}
