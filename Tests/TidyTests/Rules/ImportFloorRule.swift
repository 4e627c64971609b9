/// Imports follow the floors: a C library is seen by its wrapper only, Core by nothing but values.
struct ImportFloorRule: TidyRule {
    /// Which modules may see which C library.
    static let wrappers: [Substring: Set<String>] = [
        "CLinux": ["Loop"], "CZMQ": ["ZeroMQ"], "COpenSSL": ["TLS", "PushBusCrypto"],
        "CNghttp2": ["HTTP2"], "CMHD": ["HTTPServer"], "CSQLite": ["Storage"],
        "CPostgreSQL": ["Storage"],
        "CCurl": ["HTTPClient"], "CMsgpack": ["Bus"], "CSodium": ["PushBusCrypto"],
        "CQREncode": ["QRCode"],
    ]

    func breaches(in tree: SourceTree) -> [Breach] {
        tree.swiftFiles.flatMap { file in
            file.imports.compactMap { module, line in
                reason(file, module, tree).map { Breach(file, line, $0) }
            }
        }
    }

    /// What the phone's library is made of builds on Apple's systems too, which have Foundation whole.
    private func isForApple(_ file: SourceFile) -> Bool {
        ["Shared/Contracts/", "Shared/PushBusDevice/"].contains { file.path.hasPrefix($0) }
            && file.lines.contains("#if canImport(FoundationEssentials)")
    }

    private func reason(_ file: SourceFile, _ module: Substring, _ tree: SourceTree) -> String? {
        let parts = file.path.split(separator: "/")
        let target = tree.target(of: file)?.name ?? ""
        if module == "Foundation" {
            return isForApple(file) ? nil : "import FoundationEssentials instead of Foundation"
        }
        if let allowed = Self.wrappers[module], !allowed.contains(target) {
            return "only \(allowed.sorted().joined(separator: " and ")) may import \(module)"
        }
        if file.path.hasPrefix("Shared/Contracts/"), module != "FoundationEssentials" {
            return "Contracts imports FoundationEssentials only, not \(module)"
        }
        guard parts.count > 3, parts[0] == "Services" else { return nil }
        let service = parts[1]
        if parts[2] == "Core", module != "Contracts", module != "FoundationEssentials" {
            return "a Core imports Contracts and FoundationEssentials only, not \(module)"
        }
        if parts[2] == "Main", module != "\(service)Service", module != "ServiceKit" {
            return "a Main imports its own service and ServiceKit only, not \(module)"
        }
        let others = tree.targets.filter {
            $0.path.hasPrefix("Services/") && !$0.path.hasPrefix("Services/\(service)/")
        }
        if others.contains(where: { $0.name == module }) {
            return "a service never imports another one's module (\(module))"
        }
        return nil
    }
}
