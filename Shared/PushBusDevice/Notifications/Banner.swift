/// What a notification shows.
package struct Banner: Codable, Hashable, Sendable {
    package var title: String
    package var body: String

    package init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}
