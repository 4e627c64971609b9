extension HTTPRequestHead {
    /// Whether every reader of this head finds the end of its body at the same place.
    ///
    /// libmicrohttpd takes what a proxy in front may read in another way, and then one request could
    /// hide in the body of another (RFC 9112 sections 5.1, 6.1 and 11.2).
    var isFramedPlainly: Bool {
        let areWhole = headers.fields.allSatisfy { field in
            Self.isToken(field.name) && !Self.isFolded(field.name) && Self.isText(field.value)
        }
        guard areWhole else { return false }
        let lengths = headers.all("Content-Length")
        let codings = headers.all("Transfer-Encoding")
        guard headers.all("Host").count <= 1, lengths.count + codings.count <= 1 else {
            return false
        }
        if let length = lengths.first {
            return !length.isEmpty && length.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        if let coding = codings.first {
            return HTTPHeaders.same(coding, "chunked") && version != "HTTP/1.0"
        }
        return true
    }

    /// libmicrohttpd glues what a folded line holds to the name of the field before it.
    private static func isFolded(_ name: String) -> Bool {
        ["content-length", "transfer-encoding", "host"].contains { framing in
            name.utf8.count > framing.utf8.count
                && HTTPHeaders.same(String(name.prefix(framing.count)), framing)
        }
    }

    /// A value holds no carriage return or line feed (RFC 9110 section 5.5): another reader may begin a
    /// field there.
    private static func isText(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 != 0x0D && $0 != 0x0A }
    }

    /// A field name is a token (RFC 9110 section 5.6.2); a blank before the colon is none.
    private static func isToken(_ name: String) -> Bool {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        return !name.isEmpty
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || marks.contains($0)
            }
    }
}
