import Testing

/// Each rule catches a planted breach and leaves the sound neighbour alone.
@Suite
struct RuleTests {
    private static let manifest = """
        let package = Package(
            targets: [
                .target(
                    name: "Contracts",
                    path: "Shared/Contracts",
                    exclude: ["Schemas"]
                ),
                shared("Loop", ["CLinux"]),
                shared("ZeroMQ", ["CZMQ", "Loop"]),
                service("Fanout", uses: ["PushBusCrypto"]),
                service("Delivery", uses: ["Storage"]),
                executable("phone", "Tools/phone", ["Contracts"]),
                tests("Loop", ["Loop"]),
            ]
        )
        """

    private func breaches(
        _ rule: some TidyRule,
        _ files: KeyValuePairs<String, String>
    ) -> [String] {
        rule.breaches(in: SourceTree(files, manifest: Self.manifest)).map {
            "\($0.path):\($0.line)"
        }
    }

    @Test("Imports against the floors")
    func importFloor() {
        let found = breaches(
            ImportFloorRule(),
            [
                "Shared/ZeroMQ/Good.swift": "import CZMQ\nimport Loop",
                "Shared/Loop/Bad.swift": "import CZMQ",
                "Shared/Contracts/Bad.swift": "import FoundationEssentials\nimport Glibc",
                "Shared/PushBusDevice/Good.swift": "#if canImport(FoundationEssentials)\n"
                    + "import FoundationEssentials\n#else\nimport Foundation\n#endif",
                "Shared/PushBusDevice/Worse.swift": "import Foundation",
                "Services/Fanout/Core/Good.swift": "import Contracts\nimport FoundationEssentials",
                "Services/Fanout/Core/Bad.swift": "import Loop",
                "Services/Fanout/Service/Bad.swift": "import FanoutCore\nimport DeliveryCore",
                "Services/Fanout/Main/Bad.swift": "import FanoutService\nimport Loop",
                "Tests/LoopTests/Bad.swift": "// import Foundation\n@testable import Foundation",
            ]
        )
        #expect(
            found == [
                "Shared/Loop/Bad.swift:1", "Shared/Contracts/Bad.swift:2",
                "Shared/PushBusDevice/Worse.swift:1",
                "Services/Fanout/Core/Bad.swift:1", "Services/Fanout/Service/Bad.swift:2",
                "Services/Fanout/Main/Bad.swift:2", "Tests/LoopTests/Bad.swift:2",
            ]
        )
    }

    @Test("Imports that the target does not declare")
    func declaredImports() {
        let found = breaches(
            DeclaredImportRule(),
            [
                "Shared/ZeroMQ/Good.swift": "import CZMQ\nimport Loop\nimport Glibc",
                "Shared/ZeroMQ/Bad.swift": "import Loop\nprivate import Contracts",
                "Services/Delivery/Service/Good.swift": "import struct Storage.Migration",
                "Services/Fanout/Service/Bad.swift": "import Storage",
                "Tests/LoopTests/Good.swift": "import TestKit\nimport Testing",
                "Elsewhere/Bad.swift": "",
            ]
        )
        #expect(
            found == [
                "Shared/ZeroMQ/Bad.swift:2", "Services/Fanout/Service/Bad.swift:1",
                "Elsewhere/Bad.swift:0",
            ]
        )
    }

    @Test("Unchecked claims without a proof")
    func proof() {
        let found = breaches(
            ProofRule(),
            [
                "A/Good.swift": "// Only used on the loop.\nfinal class A: @unchecked Sendable {}",
                "A/Split.swift": "// Locked.\nfinal class A: B,\n    @unchecked Sendable\n{}",
                "A/Said.swift": "let text = \"@unchecked Sendable\"",
                "A/Bad.swift": "// Far away.\n\nfinal class A: @unchecked Sendable {}",
                "A/Var.swift": "let a = 1\nnonisolated(unsafe) var b = 2",
            ]
        )
        #expect(found == ["A/Bad.swift:3", "A/Var.swift:2"])
    }

    @Test("Threads and loose tasks outside the shared modules")
    func threads() {
        let found = breaches(
            ThreadRule(),
            [
                "Shared/Loop/Good.swift": "pthread_self()\nTask { }",
                "Tests/LoopTests/Good.swift": "Task { }",
                "Services/A/Service/Good.swift":
                    "try await Task.sleep(for: x)\ngroup.addTask { }\nTask.isCancelled // Task { }",
                "Services/A/Service/Bad.swift":
                    "pthread_self()\nTask { }\nTask.detached { }\nUnmanaged.passRetained(a)",
                "Tools/phone/Bad.swift": "let t = Task(priority: .low) { }\nDispatchQueue.main",
            ]
        )
        #expect(
            found == (1...4).map { "Services/A/Service/Bad.swift:\($0)" }
                + (1...2).map { "Tools/phone/Bad.swift:\($0)" }
        )
    }

    @Test("Long files, functions and mains")
    func lengths() {
        let longFunction =
            "    func long(\n        a: Int\n    )\n        -> Int\n    {\n"
            + String(repeating: "        print(\"}\") // }\n", count: 65) + "    }\n"
        let found = breaches(
            LengthRule(),
            [
                "A/Good.swift": String(repeating: "\n", count: 400),
                "A/Long.swift": String(repeating: "\n", count: 401),
                "A/Function.swift": "struct A {\n" + longFunction + "}\n",
                "A/Requirement.swift": "protocol P {\n    func short()\n    init(a: Int)\n}\n"
                    + "struct B {\n" + String(repeating: "    let a = 1\n", count: 90) + "}\n",
                "Services/A/Main/Good.swift": String(repeating: "\n", count: 39),
                "Services/A/Main/Bad.swift": String(repeating: "\n", count: 40),
            ]
        )
        #expect(found == ["A/Long.swift:0", "A/Function.swift:2", "Services/A/Main/Bad.swift:0"])
    }

    @Test("Tests that sleep")
    func sleeping() {
        let found = breaches(
            SleepRule(),
            [
                "Tests/Support/TestKit/Good.swift": "try await Task.sleep(for: limit)",
                "Tests/LoopTests/Good.swift": "try await time.sleep(until: soon) // usleep(3)",
                "Tests/LoopTests/Bad.swift": "usleep(3)\ntry await Task.sleep(for: x)\nsleep(1)",
                "Tests/SystemTests/Interop/test_bad.py": "import time\ntime.sleep(1)",
                "Tests/SystemTests/Interop/good_peer.py": "import time\ntime.sleep(1)",
                "Shared/Loop/Good.swift": "usleep(3)",
            ]
        )
        #expect(
            found == (1...3).map { "Tests/LoopTests/Bad.swift:\($0)" } + [
                "Tests/SystemTests/Interop/test_bad.py:2"
            ]
        )
    }

    @Test("Files without their type and names that say nothing")
    func names() {
        let found = breaches(
            NameRule(),
            [
                "A/Good.swift": "struct Good {}",
                "A/Good+Topic.swift": "extension Outer.Good {}",
                "A/ConstantTime.swift": "package func constantTimeEquals() {}",
                "A/Missing.swift": "struct Other {}\n// struct Missing",
                "A/Missing+Topic.swift": "extension Other {}",
                "A/StringUtils.swift": "enum StringUtils {}",
                "A/Use.swift": "struct Use { let files = FileManager.default }",
            ]
        )
        #expect(
            found == ["A/Missing.swift:0", "A/Missing+Topic.swift:0", "A/StringUtils.swift:0"]
        )
    }

    @Test("Clocks, chance and waiting in a Core")
    func purity() {
        let found = breaches(
            PurityRule(),
            [
                "Services/A/Core/Good.swift": "func decide(at now: Date) -> Bool // async",
                "Services/A/Core/Bad.swift":
                    "func f() async {}\nlet now = Date()\nInt.random(in: 1...2)",
                "Services/A/Service/Good.swift": "func f() async {}\nlet now = Date()",
            ]
        )
        #expect(found == (1...3).map { "Services/A/Core/Bad.swift:\($0)" })
    }

    @Test("Leftovers in any kind of file")
    func leftovers() {
        let found = breaches(
            LeftoverRule(),
            [
                "README.md": "Placeholders are `$1`.",
                "A/Bad.swift": "// TO" + "DO: later\nlet FIX" + "ME = 1\nenum LoopScaf" + "fold {}",
                "script/bad": "# X" + "XX",
                "A/Scaf" + "fold.swift": "",
            ]
        )
        #expect(
            found == (1...3).map { "A/Bad.swift:\($0)" } + [
                "script/bad:1", "A/Scaf" + "fold.swift:0",
            ]
        )
    }

    @Test("Access wider than the package")
    func access() {
        let found = breaches(
            AccessRule(),
            [
                "A/Good.swift": "package let publicKey = 1 // public\nlet public1 = open(path)",
                "A/Bad.swift": "public struct A {}\nopen class B {}\n@frozen public enum C {}",
            ]
        )
        #expect(found == (1...3).map { "A/Bad.swift:\($0)" })
    }
}
