import Commands
import Testing

@Suite struct TableTests {
    @Test func columnsAlign() {
        var table = Table(["name", "rows"], rightAligned: [1])
        table.add(["a", "1"])
        table.add(["告警", "100"])
        #expect(table.text == "name  rows\na        1\n告警   100\n")
        #expect(table.count == 2)
    }
}
