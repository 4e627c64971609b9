import Glibc
import PushBusDevice
import TestKit
import Testing

@testable import phone

@Suite struct FileStoreTests {
    @Test func itemsComeBackAndGo() throws {
        let directory = try TemporaryDirectory()
        let store = try FileStore(directory: directory.file("phone"))
        #expect(try store.read(.keys) == nil)
        try store.write([1, 2, 3], .keys)
        try store.write([4], .keys)
        #expect(try store.read(.keys) == [4])
        try store.write(nil, .keys)
        try store.write(nil, .keys)
        #expect(try store.read(.keys) == nil)
    }

    @Test func nobodyElseMayRead() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("phone")
        #expect(mkdir(path, 0o755) == 0)
        let store = try FileStore(directory: path)
        try store.write([1], .state)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        #expect(stat("\(path)/state.json", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func aDirectoryThatCannotBeIsAnError() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: FileStore.Failure.self) {
            try FileStore(directory: directory.file("a/b"))
        }
    }

    @Test func whatAKilledProcessLeftIsRemoved() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("phone")
        _ = try FileStore(directory: path)
        // No process has the highest id there could be.
        let left = "\(path)/state.json.4194304"
        let own = "\(path)/state.json.\(getpid())"
        for file in [left, own] {
            let descriptor = open(file, O_WRONLY | O_CREAT, 0o600)
            #expect(descriptor >= 0)
            close(descriptor)
        }
        let store = try FileStore(directory: path)
        #expect(access(left, F_OK) != 0)
        #expect(access(own, F_OK) == 0)
        try store.write([1], .state)
        #expect(try store.read(.state) == [1])
    }

    @Test func processesTakeTurns() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("phone")
        let store = try FileStore(directory: path)
        func isFree() -> Bool {
            let descriptor = open("\(path)/lock", O_RDWR | O_CREAT, 0o600)
            defer { close(descriptor) }
            return flock(descriptor, LOCK_EX | LOCK_NB) == 0
        }
        var wasFree: Bool?
        try store.exclusively { wasFree = isFree() }
        #expect(wasFree == false)
        #expect(isFree())
    }
}
