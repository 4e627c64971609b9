/// The few places where PostgreSQL reads text otherwise than SQLite does.
enum PostgreSQLText {
    /// Leaves out `INDEXED BY name` and `NOT INDEXED`, which are for SQLite's planner only, and answers
    /// `$1 IS NULL` for the parameters whose type is 0: the server cannot tell the type of a parameter
    /// from a question that fits all types.
    static func translated(_ sql: String, types: [UInt32]) -> String {
        var text = sql
        if text.contains("INDEXED") {
            text = text.replacing(/INDEXED BY \w+|NOT INDEXED/, with: "")
        }
        if text.contains("IS NULL") && types.contains(0) {
            text = text.replacing(/\$(\d+) IS NULL/) { match in
                let isNull = Int(match.1).map {
                    types.indices.contains($0 - 1) && types[$0 - 1] == 0
                }
                return isNull == true ? "TRUE" : String(match.0)
            }
        }
        return text
    }

    /// A text constant in a statement that cannot have parameters.
    static func literal(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }
}
