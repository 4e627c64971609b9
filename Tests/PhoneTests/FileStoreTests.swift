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
        try store.write([1], .session)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        #expect(stat("\(path)/session.json", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func aDirectoryThatCannotBeIsAnError() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: FileStore.Failure.self) {
            try FileStore(directory: directory.file("a/b"))
        }
    }
}
