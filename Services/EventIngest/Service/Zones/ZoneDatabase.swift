import Contracts
import FoundationEssentials
import Loop

/// The system's time zone data, read when a zone is first asked for.
///
/// FoundationEssentials knows no zones by name, and the part of Foundation that does costs more
/// memory than this process uses.
package final class ZoneDatabase: Sendable {
    private let directory: String
    private let zones = Locked<[String: ZoneFile]>([:])

    /// Zones that are kept; one more empties the table.
    private static let kept = 64
    private static let fileLimit = 1 << 20

    /// Where Debian's tzdata puts its files.
    package static let systemFolder = "/usr/share/zoneinfo"

    package init(directory: String = ZoneDatabase.systemFolder) { self.directory = directory }

    /// Seconds east of UTC in a zone; nil when there is no readable zone of that name, which is
    /// looked for again each time.
    package func offset(of zone: String, at instant: UnixSeconds) -> Int64? {
        if let known = zones.withLock({ $0[zone] }) { return known.offset(at: instant.seconds) }
        guard let file = read(zone) else { return nil }
        zones.withLock { zones in
            if zones.count >= Self.kept { zones = [:] }
            zones[zone] = file
        }
        return file.offset(at: instant.seconds)
    }

    private func read(_ zone: String) -> ZoneFile? {
        guard Self.isName(zone) else { return nil }
        let url = URL(filePath: directory + "/" + zone)
        guard let data = try? Data(contentsOf: url), data.count <= Self.fileLimit else {
            return nil
        }
        return ZoneFile([UInt8](data))
    }

    /// Words of letters, digits, `+`, `-` and `_` between slashes.
    private static func isName(_ zone: String) -> Bool {
        let words = zone.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return zone.utf8.count <= 64
            && words.allSatisfy { word in
                !word.isEmpty
                    && word.allSatisfy { byte in
                        switch byte {
                        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2b, 0x2d, 0x5f: true
                        default: false
                        }
                    }
            }
    }
}
