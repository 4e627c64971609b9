import Glibc
import TestKit
import Testing
import ZeroMQ

@Suite struct IPCAddressTests {
    @Test func theDirectoryIsMadeForThisUserOnly() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("bus/service.sock")
        let address = try IPCAddress(path: path)
        var status = stat()
        #expect(stat(directory.file("bus"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        let context = try ZeroMQContext()
        let socket = try ZeroMQSocket(.router, context: context, options: ZeroMQSocketOptions())
        try address.bind(socket)
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o077 == 0)
        socket.close()
        address.remove()
        #expect(access(path, F_OK) != 0)
    }

    @Test func onlyOneHolderAtATime() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("service.sock")
        var first: IPCAddress? = try IPCAddress(path: path)
        #expect {
            try IPCAddress(path: path)
        } throws: { error in
            "\(error)".contains("already running")
        }
        #expect(first != nil)
        first = nil
        _ = try IPCAddress(path: path)
    }

    @Test func aDirectoryOpenToOthersIsRefused() throws {
        let directory = try TemporaryDirectory()
        let shared = directory.file("shared")
        mkdir(shared, 0o755)
        chmod(shared, 0o755)
        #expect {
            try IPCAddress(path: "\(shared)/service.sock")
        } throws: { error in
            "\(error)".contains("chmod 700")
        }
    }

    @Test(arguments: ["relative.sock", "/ends/in/", "/" + String(repeating: "x", count: 107)])
    func unusablePathsAreRefused(_ path: String) {
        #expect(throws: ZeroMQError.self) { try IPCAddress(path: path) }
    }
}
