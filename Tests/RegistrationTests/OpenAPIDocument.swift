import FoundationEssentials
import Testing

@testable import RegistrationService

/// What `registration.yaml` says about operations and their answers.
enum OpenAPIDocument {
    struct Operation: Sendable {
        let endpoint: MobileRoute.Endpoint
        var statuses: Set<Int> = []

        var name: String { "\(endpoint.method) \(endpoint.path)" }
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static let operations: [Operation] = {
        let file = root.appending(path: "Shared/Contracts/openapi/registration.yaml")
        let text = (try? Data(contentsOf: file)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return read(text.split(separator: "\n"))
    }()

    /// Takes paths from two blanks in, methods from four, statuses from eight.
    private static func read(_ lines: [Substring]) -> [Operation] {
        var operations: [Operation] = []
        var path = ""
        for line in lines.prefix(while: { $0 != "components:" }) {
            let word = line.drop { $0 == " " }
            let status = word.dropFirst().prefix(3)
            switch line.utf8.count - word.utf8.count {
            case 2 where word.hasPrefix("/"): path = String(word.dropLast())
            case 4 where ["get:", "put:", "post:", "delete:"].contains(word):
                let below = String(path.dropFirst(MobileRoute.prefix.count))
                let method = word.dropLast().uppercased()
                operations.append(
                    Operation(endpoint: MobileRoute.Endpoint(method, below) { _ in .logout })
                )
            case 8 where word.hasPrefix("\""):
                guard let number = Int(status), !operations.isEmpty else { continue }
                operations[operations.count - 1].statuses.insert(number)
            default: break
            }
        }
        return operations
    }

    /// Records an issue when an operation gave an answer that its description does not know. What is no
    /// operation is not described.
    static func expect(
        _ method: String,
        _ path: String,
        isAnswered status: Int,
        at location: SourceLocation = #_sourceLocation
    ) {
        let path = path.prefix { $0 != "?" }
        let operation = operations.first {
            $0.endpoint.method == method && $0.endpoint.match(path) != nil
        }
        guard let operation, !operation.statuses.contains(status) else { return }
        Issue.record(
            "registration.yaml does not know \(status) of \(operation.name)",
            sourceLocation: location
        )
    }
}
