import ServiceKit

/// A database whose writes say whether the store takes writes.
package struct WatchedDatabase<Base: SQLDatabase>: SQLDatabase {
    package typealias Connection = Base.Connection

    package let base: Base
    private let condition: StoreCondition

    package init(_ base: Base, _ condition: StoreCondition) {
        self.base = base
        self.condition = condition
    }

    @discardableResult
    package func write<Value: Sendable>(
        rows: Int,
        verb: StaticString,
        _ body: @escaping @Sendable (Base.Connection) throws -> Value
    ) async throws -> Value {
        do {
            let value = try await base.write(rows: rows, verb: verb, body)
            condition.writes()
            return value
        } catch let failure as StorageError {
            if failure.isOfTheStore { condition.fails(failure) }
            throw failure
        }
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (Base.Connection) throws -> Value
    ) async throws -> Value {
        try await base.read(body)
    }

    package func close() async { await base.close() }
}

extension StorageError {
    /// Whether the next write is likely to fail too, whatever it is: not when the change itself was
    /// refused, when too many came at once, or at the end.
    private static let others: Set<Kind> = [
        .constraint, .overloaded, .closed, .misuse, .unsupported,
    ]

    fileprivate var isOfTheStore: Bool { !Self.others.contains(kind) }
}
