/// One numbered, forward-only step of a store's schema.
///
/// A released migration never changes: its name is recorded in the file, and a file whose record
/// differs is refused.
package struct Migration: Sendable {
    /// Counts from 1 without gaps.
    package let number: Int
    /// Short and unique; starts with the store's name, so that a foreign file is recognised.
    package let name: String
    /// Statements that run in one transaction.
    package let statements: [String]
    /// What follows on PostgreSQL alone, when the step is written for both.
    package let postgreSQL: [String]

    package init(
        number: Int,
        name: String,
        statements: [String],
        postgreSQL: [String] = []
    ) {
        self.number = number
        self.name = name
        self.statements = statements
        self.postgreSQL = postgreSQL
    }
}
