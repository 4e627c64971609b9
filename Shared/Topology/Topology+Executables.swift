import FoundationEssentials

extension Topology {
    /// The folder of the running program: where `swift build` puts all executables of the package.
    package static func folderOfThisProgram() throws(TopologyError) -> String {
        guard
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            let slash = path.lastIndex(of: "/")
        else {
            throw TopologyError("the folder of this program cannot be found: is /proc mounted?")
        }
        return String(path[..<slash])
    }
}
