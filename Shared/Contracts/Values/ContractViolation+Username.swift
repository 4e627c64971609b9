extension ContractViolation {
    /// A name of an account is 1 to 128 characters without spaces and control characters. A character
    /// is a Unicode code point, as in JSON Schema.
    static func check(username: String, _ pointer: String = "/username") throws(Self) {
        try check(
            (1...128).contains(username.unicodeScalars.count)
                && username.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f },
            pointer,
            "must be 1 to 128 characters without spaces and control characters"
        )
    }

    /// A new password is 8 to 1024 characters.
    static func check(password: Password) throws(Self) {
        try check(
            (8...1024).contains(password.text.unicodeScalars.count),
            "/password",
            "must be 8 to 1024 characters"
        )
    }
}
