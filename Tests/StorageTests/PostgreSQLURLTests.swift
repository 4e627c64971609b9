import Storage
import Testing

@Suite struct PostgreSQLURLTests {
    @Test func thePasswordIsNowhere() async throws {
        let url = try PostgreSQLURL("postgresql://me:geheim@localhost:5433/push?sslmode=disable")
        #expect(url.description == "postgresql://me@localhost:5433/push")
        #expect(!"\(url)\(String(reflecting: url))".contains("geheim"))
        let options = PostgreSQLOptions(schema: "x", ownership: .shared)
        let nobody = try PostgreSQLURL("postgresql://me:geheim@127.0.0.1:1/push")
        await #expect {
            _ = try await PostgreSQLDatabase.open(
                nobody,
                migrations: [],
                options: options
            )
        } throws: {
            let text = "\($0)"
            return !text.contains("geheim") && text.contains("postgresql://me@127.0.0.1:1/push")
        }
    }

    @Test(arguments: [
        "sqlite:/x", "postgresql://me:geheim@local host/push",
        "postgresql://me:geheim@h/push?nonsense=1",
        "postgresql://me:geheim@db.example.org/push",
        "postgresql://me:geheim@h/push?sslmode=prefer",
    ])
    func whatIsNotAcceptedIsNotQuoted(_ text: String) {
        #expect {
            try PostgreSQLURL(text)
        } throws: {
            !"\($0)".contains("geheim")
        }
    }

    @Test(arguments: [
        "postgresql:///push?host=/run/postgresql", "postgresql://%2Frun%2Fpostgresql/push",
        "postgres://me@[::1]/push",
        "postgresql://me@db.example.org/push?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        "postgresql://me@a,b/push?sslmode=require&target_session_attrs=read-write",
    ])
    func accepted(_ text: String) throws {
        _ = try PostgreSQLURL(text)
    }
}
