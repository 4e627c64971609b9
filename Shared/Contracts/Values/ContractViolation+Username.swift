extension ContractViolation {
    /// A name of an account is 1 to 128 bytes without spaces and control characters.
    static func check(username: String, _ pointer: String = "/username") throws(Self) {
        try check(
            (1...128).contains(username.utf8.count)
                && username.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f },
            pointer,
            "must be 1 to 128 bytes without spaces and control characters"
        )
    }

    /// A new password is 8 to 1024 bytes.
    static func check(password: Password) throws(Self) {
        try check(
            (8...1024).contains(password.text.utf8.count),
            "/password",
            "must be 8 to 1024 bytes"
        )
    }
}
