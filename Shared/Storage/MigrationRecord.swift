/// A migration that a store says it has had.
struct MigrationRecord {
    let number: Int
    let name: String

    /// Throws `misuse` unless the numbers count from 1 without gaps.
    static func checkNumbers(_ migrations: [Migration]) throws(StorageError) {
        for (index, migration) in migrations.enumerated() where migration.number != index + 1 {
            throw StorageError(.misuse, "migration \(migration.name) is out of order")
        }
    }

    /// Throws `newerSchema` when the store has had more than the program knows, `foreignSchema` when a
    /// name differs.
    static func check(
        _ applied: [MigrationRecord],
        against migrations: [Migration]
    ) throws(StorageError) {
        for (index, (recorded, known)) in zip(applied, migrations).enumerated() {
            guard recorded.number == index + 1, recorded.name == known.name else {
                throw StorageError(
                    .foreignSchema,
                    "the store records migration \(recorded.number) as \(recorded.name), this program knows "
                        + "\(known.name); point the setting at this program's own store"
                )
            }
        }
        guard applied.count <= migrations.count else {
            throw StorageError(
                .newerSchema,
                "the store has schema \(applied.count), this program knows \(migrations.count); start the "
                    + "newer program or restore a backup"
            )
        }
    }
}
