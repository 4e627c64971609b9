/// A rule that the compiler cannot hold.
protocol TidyRule: Sendable {
    func breaches(in tree: SourceTree) -> [Breach]
}
