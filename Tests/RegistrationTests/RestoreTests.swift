import Contracts
import FoundationEssentials
import RegistrationCore
import RegistrationService
import TestKit
import Testing

/// A backup in the place of the store, with real files.
@Suite(.timeLimit(.minutes(2)))
struct RestoreTests {
    private static let restored = "store restored: all sessions have ended, phones sign in again"

    @Test func restoringABackupEndsAllSessionsAndRaisesTheCounter() async throws {
        let phones = Observed<[Phone]>([])
        let numbers = Observed<[Int64]>([])
        try await RegistrationWorld.run { world in
            let alice = try await world.registeredPhone("alice")
            let path = world.directory.file("backup.db")
            let made = try await world.ask(RegistrationBackup(path: path))
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size]
            #expect((size as? UInt64).map { Int64($0) } == made.bytes)
            // After the backup: a sign-out, a new phone, more numbers.
            _ = try await alice.logout()
            let bob = try await world.registeredPhone("bob", token: "bb22")
            _ = try await bob.save(revision: 2, "enabled")
            _ = try await bob.save(revision: 3, "enabled", "alerts")
            phones.update { $0 = [alice, bob] }
            let binding = try #require(try await bob.recipient()).binding
            let watermark = try await world.watermark()
            numbers.update { $0 = [binding, watermark] }
            await #expect(throws: (any Error).self) {
                try await world.ask(RegistrationBackup(path: path))
            }
        } between: { directory in
            let store = directory.file("registration.db")
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.moveItem(atPath: directory.file("backup.db"), toPath: store)
        } again: { world in
            #expect(world.logs.lines(of: Self.restored).count == 1)
            let watermark = try await world.watermark()
            #expect(watermark > numbers.value[1])
            for phone in phones.value {
                let session = phone.session
                let again = Phone(world: world, installation: phone.installation, session: session)
                #expect(try await again.settings().status == 401)
                #expect(try await again.refresh().status == 401)
            }
            // What is queued from the lost time is for nobody, whatever comes to stand there.
            try await world.addUser("bob")
            let bob = try await world.login("bob", "phone-of-bob")
            _ = try await bob.save(revision: 0, "enabled", "alerts")
            _ = try await bob.register(revision: 1, token: "bb22")
            let recipient = try #require(try await bob.recipient())
            #expect(recipient.binding > watermark)
            let (binding, old) = (numbers.value[0], numbers.value[1])
            #expect(
                try await world.check("phone-of-bob", binding: binding, watermark: old)
                    == .ineligible(.replaced)
            )
            #expect(try await world.audience(watermark: old).recipients.isEmpty)
            // The account and its preferences are those of the backup.
            let alice = try await world.login("alice", "phone-of-alice")
            #expect(try await alice.settings()["preferences"]?["alerts"] == .bool(true))
        }
    }

    @Test func aCopyOfAnEarlierRunIsRecognised() async throws {
        try await RegistrationWorld.run { world in
            _ = try await world.registeredPhone("alice")
        } between: { directory in
            let store = directory.file("registration.db")
            let copy = directory.file("copy.db")
            try FileManager.default.copyItem(atPath: store, toPath: copy)
            // Another start in between.
            let file = URL(filePath: directory.file("registration.db-generation"))
            #expect(try String(contentsOf: file, encoding: .utf8) == "1\n")
            try Data("2\n".utf8).write(to: file)
        } again: { world in
            #expect(world.logs.lines(of: Self.restored).count == 1)
            let (page, watermark) = try await (world.audience(), world.watermark())
            #expect(page.recipients.isEmpty)
            #expect(watermark > StoreGeneration.counterJump)
        }
    }

    @Test func aRestartIsNoRestoration() async throws {
        let session = Observed<Phone?>(nil)
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            session.update { $0 = phone }
        } again: { world in
            #expect(world.logs.lines(of: Self.restored).isEmpty)
            let old = try #require(session.value)
            let phone = Phone(
                world: world,
                installation: old.installation,
                session: old.session
            )
            #expect(try await phone.settings().flag("registered") == true)
            #expect(try await world.watermark() < StoreGeneration.counterJump)
        }
    }

    @Test func anOperatorEndsAllSessionsOnDemand() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let binding = try #require(try await phone.recipient()).binding
            let before = try await world.watermark()
            #expect(try await world.ask(RegistrationRenewal()).sessionsEnded == 1)
            #expect(try await phone.settings().status == 401)
            #expect(try await world.watermark() == before + StoreGeneration.counterJump)
            #expect(
                try await world.check(phone.installation, binding: binding)
                    == .ineligible(.notRegistered)
            )
        } again: { world in
            #expect(world.logs.lines(of: Self.restored).isEmpty)
        }
    }

    @Test(
        arguments: [
            (0, nil, false, false), (3, 3, false, false), (4, 3, false, false), (3, 4, false, true),
            (3, nil, false, true), (3, 3, true, true), (0, 1, false, true), (0, nil, true, true),
        ] as [(Int64, Int64?, Bool, Bool)]
    )
    func comparesGenerations(
        _ number: Int64,
        _ recorded: Int64?,
        _ isBackup: Bool,
        _ isRestored: Bool
    ) {
        let generation = StoreGeneration(number: number, isBackup: isBackup)
        #expect(generation.isRestored(recorded: recorded) == isRestored)
        #expect(generation.next(recorded: recorded) == max(number, recorded ?? 0) + 1)
    }
}
