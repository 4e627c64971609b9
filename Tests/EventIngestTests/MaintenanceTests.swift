import Contracts
import EventIngestCore
import EventIngestService
import Testing

/// Windows against the time zone data of this system.
@Suite struct MaintenanceTests {
    static let database = ZoneDatabase()
    static let zones: ZoneOffset = { database.offset(of: $0, at: $1) }

    static func time(_ text: String) throws -> UnixMilliseconds {
        try #require(RFC3339.parse(text))
    }

    static func clock(_ text: String) throws -> WallTime { try #require(WallTime(text)) }

    private func weekly(
        _ from: String,
        _ until: String,
        _ days: [Weekday] = Weekday.allCases,
        zone: String = "Europe/Berlin"
    ) throws -> MaintenanceWindow {
        MaintenanceWindow(
            id: "w",
            name: "w",
            weekly: .init(
                zone: zone,
                days: days,
                from: try Self.clock(from),
                until: try Self.clock(until)
            )
        )
    }

    private func expect(
        _ window: MaintenanceWindow,
        begins: String,
        ends: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let (begin, end) = (try Self.time(begins), try Self.time(ends))
        for (instant, inside) in [
            (begin.adding(milliseconds: -1), false), (begin, true),
            (end.adding(milliseconds: -1), true), (end, false),
        ] {
            #expect(
                window.contains(instant, zones: Self.zones) == inside,
                sourceLocation: sourceLocation
            )
        }
    }

    @Test func lastsFromOneInstantUntilAnother() throws {
        let window = MaintenanceWindow(
            id: "w",
            name: "w",
            once: .init(
                from: try Self.time("2027-01-15T08:00:00Z").second,
                until: try Self.time("2027-01-15T09:00:00Z").second
            )
        )
        try expect(window, begins: "2027-01-15T08:00:00Z", ends: "2027-01-15T09:00:00Z")
    }

    @Test func followsTheLocalClockThroughTheYear() throws {
        let window = try weekly("02:00", "04:00")
        try expect(window, begins: "2027-01-15T01:00:00Z", ends: "2027-01-15T03:00:00Z")
        try expect(window, begins: "2027-07-15T00:00:00Z", ends: "2027-07-15T02:00:00Z")
    }

    @Test func beginsOnItsDaysAndRunsOverMidnight() throws {
        // 2027-01-15 is a Friday.
        let window = try weekly("22:00", "06:00", [.friday])
        try expect(window, begins: "2027-01-15T21:00:00Z", ends: "2027-01-16T05:00:00Z")
        let thursday = try Self.time("2027-01-14T23:00:00Z")
        #expect(window.contains(thursday, zones: Self.zones) == false)
        let saturday = try Self.time("2027-01-16T22:00:00Z")
        #expect(window.contains(saturday, zones: Self.zones) == false)
    }

    @Test func lastsADayWhenBothTimesAreEqual() throws {
        let window = try weekly("06:00", "06:00", [.monday])
        try expect(window, begins: "2027-01-18T05:00:00Z", ends: "2027-01-19T05:00:00Z")
    }

    /// On 2027-03-28 the clock of Berlin goes from 02:00 to 03:00 at 01:00 UTC.
    @Test func takesTheJumpForATimeThatIsLeftOut() throws {
        try expect(
            try weekly("02:30", "05:00"),
            begins: "2027-03-28T01:00:00Z",
            ends: "2027-03-28T03:00:00Z"
        )
        try expect(
            try weekly("01:00", "02:30"),
            begins: "2027-03-28T00:00:00Z",
            ends: "2027-03-28T01:00:00Z"
        )
        let skipped = try weekly("02:10", "02:50")
        for minute in stride(from: Int64(0), to: 180, by: 5) {
            let instant = try Self.time("2027-03-28T00:00:00Z").adding(
                milliseconds: minute * 60_000
            )
            #expect(skipped.contains(instant, zones: Self.zones) == false)
        }
    }

    /// On 2027-10-31 the clock of Berlin goes from 03:00 back to 02:00 at 01:00 UTC.
    @Test func coversBothTimesOfAnHourThatComesTwice() throws {
        try expect(
            try weekly("02:30", "04:00"),
            begins: "2027-10-31T00:30:00Z",
            ends: "2027-10-31T03:00:00Z"
        )
        try expect(
            try weekly("01:00", "02:30"),
            begins: "2027-10-30T23:00:00Z",
            ends: "2027-10-31T01:30:00Z"
        )
    }

    @Test func knowsZonesOfEveryKind() throws {
        let cases: [(String, String, Int64)] = [
            ("UTC", "2027-07-15T00:00:00Z", 0), ("Asia/Kolkata", "2027-07-15T00:00:00Z", 19_800),
            ("America/New_York", "2027-07-15T00:00:00Z", -14_400),
            ("America/New_York", "2027-12-15T00:00:00Z", -18_000),
            ("Australia/Lord_Howe", "2027-01-15T00:00:00Z", 39_600),
            ("Australia/Lord_Howe", "2027-07-15T00:00:00Z", 37_800),
            ("Pacific/Kiritimati", "2027-07-15T00:00:00Z", 50_400),
            // Beyond the transitions that files list one by one.
            ("Europe/Berlin", "2055-07-15T00:00:00Z", 7200),
            ("Europe/Berlin", "2055-12-15T00:00:00Z", 3600),
            ("Australia/Sydney", "2055-01-15T00:00:00Z", 39_600),
            ("Europe/Dublin", "2055-07-15T00:00:00Z", 3600),
        ]
        for (zone, text, seconds) in cases {
            let instant = try Self.time(text).second
            #expect(Self.database.offset(of: zone, at: instant) == seconds, "\(zone) \(text)")
        }
    }

    @Test func knowsNoZoneByAPath() {
        for name in ["", "/etc/passwd", "../zoneinfo/UTC", "Europe/../UTC", "Europe//Berlin", "."] {
            #expect(Self.database.offset(of: name, at: UnixSeconds(0)) == nil)
        }
        #expect(ZoneDatabase(directory: "/nowhere").offset(of: "UTC", at: UnixSeconds(0)) == nil)
    }

    @Test func isUnknownWithoutTheZone() throws {
        var policy = Policy()
        policy.windows = [try weekly("02:00", "04:00", zone: "Mars/Olympus")]
        let instant = try Self.time("2027-01-15T01:30:00Z")
        #expect(policy.maintenance(of: "s", at: instant, zones: Self.zones) == .unknown)
        policy.windows.append(try weekly("02:00", "04:00"))
        #expect(policy.maintenance(of: "s", at: instant, zones: Self.zones) == .inside("w"))
        for index in policy.windows.indices {
            policy.windows[index].coverage = Coverage(.exclude, ["s"])
        }
        #expect(policy.maintenance(of: "s", at: instant, zones: Self.zones) == .clear)
    }
}

extension MaintenanceTests {
    static let midnight = wallTime(0)
    static let one = wallTime(60)

    private static func wallTime(_ minutes: Int64) -> WallTime {
        guard let time = WallTime(minutes: minutes) else { preconditionFailure("sample time") }
        return time
    }
}
