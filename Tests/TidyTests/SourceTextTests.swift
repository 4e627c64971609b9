import Testing

@Suite
struct SourceTextTests {
    @Test(
        "Comments and strings are blanked, code and lines stay",
        arguments: [
            ("let a = 1 // b", "let a = 1     "),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"x}\") }", "f(\"  \") }"),
            ("\"a\\\"b\" c", "\"    \" c"),
            ("#\"a\"b\"# c", "#\"   \"# c"),
            ("\"\\(f(\"x\")) y\" z", "\"           \" z"),
            ("\"\"\"\n a \"b\" {\n\"\"\" c", "\"\"\"\n        \n\"\"\" c"),
        ]
    )
    func blanks(source: String, code: String) {
        #expect(SourceText.code(of: source) == code)
    }
}
