/// How many letters two words differ by, to guess what a misspelt setting was meant to be.
enum EditDistance {
    /// The most similar of the candidates, if one differs by at most three letters.
    static func nearest(to word: String, in candidates: some Sequence<String>) -> String? {
        let ranked = candidates.map { (candidate: $0, distance: between(word, $0)) }
            .filter { $0.distance <= 3 }
        return ranked.min { ($0.distance, $0.candidate) < ($1.distance, $1.candidate) }?.candidate
    }

    /// Levenshtein's distance over bytes.
    static func between(_ left: String, _ right: String) -> Int {
        let left = Array(left.utf8)
        let right = Array(right.utf8)
        guard abs(left.count - right.count) <= 3 else { return .max }
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let substituted = diagonal + (byte == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
