import CLinux

/// The two descriptors of a new pipe; whoever makes it closes them.
package struct PipeEnds: Sendable {
    /// Reads what the other end writes; ends when the last writing end is closed.
    package let reading: Int32
    package let writing: Int32

    /// Makes a blocking pipe that no started program inherits.
    package init() throws(SystemCallError) {
        var ends: [Int32] = [0, 0]
        guard clinux_pipe(&ends) == 0 else { throw .last("pipe2") }
        reading = ends[0]
        writing = ends[1]
    }
}
