import Bus
import Contracts
import FoundationEssentials
import Glibc
import Testing
import Topology

/// A disk without room: new work is refused with an invitation to come back, what was accepted is
/// kept, and work goes on without a restart once there is room.
@Suite("A full disk", .serialized)
struct DiskTests {
    @Test(
        "publishes are refused, nothing accepted is lost, no restart is needed",
        .enabled(if: geteuid() == 0, "only root may mount a small tmpfs")
    )
    func fullDisk() async throws {
        let disk = try SmallDisk()
        defer { disk.remove() }
        try await World.run { topology in
            for service in [PushBusService.eventIngest, .delivery] {
                topology[service].environment[service.variablePrefix + "STORE"] =
                    "sqlite:\(disk.path)/\(service.rawValue).sqlite"
            }
        } body: { world in
            let phone = try await world.phone("alice")
            let history = History(world: world, phones: [phone])
            var events = try await world.publish((0..<5).map(Alerts.triggered))
            try await history.check(events)

            try disk.fill()
            var number = 5
            while let event = try await Self.publish(number, world) {
                events.append(event)
                number += 1
                try #require(number < 5000, "a full disk takes everything")
            }
            try disk.makeRoom()
            while true {
                try Task.checkCancellation()
                guard let event = try await Self.publish(number, world) else { continue }
                events.append(event)
                break
            }
            try await history.check(events)
            for service in PushBusService.allCases {
                #expect(world.running.supervisor.starts(of: service.rawValue) == 1)
            }
        }
    }

    /// The event's id, nil when the answer is to come back later.
    private static func publish(_ number: Int, _ world: World) async throws -> EventID? {
        let event = try JSONDecoder().decode(
            JSONValue.self,
            from: try JSONEncoder().encode(Alerts.triggered(number))
        )
        do {
            let answer = try await world.ask(.eventIngest, EventPublish(events: [event]))
            let result = try #require(answer.results.first)
            if result.status == .retryAfter { return nil }
            guard let event = result.eventID else {
                throw SystemTestFailure("publish answered \(result)")
            }
            return event
        } catch BusFailure.rejected(let reject) where reject.code == .retryAfter {
            return nil
        }
    }
}

/// A tmpfs of two megabytes.
struct SmallDisk: Sendable {
    let path: String

    init() throws {
        path = "/tmp/pushbus-disk-\(getpid())"
        guard mkdir(path, 0o700) == 0,
            mount("tmpfs", path, "tmpfs", 0, "size=2m,mode=0700") == 0
        else { throw SystemTestFailure("mount: \(String(cString: strerror(errno)))") }
    }

    /// Takes all the room that is left.
    func fill() throws {
        let file = open(path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        while write(file, zeros, zeros.count) > 0 {}
        guard errno == ENOSPC else { throw SystemTestFailure("the disk did not fill") }
    }

    func makeRoom() throws {
        guard unlink(path + "/filler") == 0 else { throw SystemTestFailure("no filler") }
    }

    func remove() {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }
}
