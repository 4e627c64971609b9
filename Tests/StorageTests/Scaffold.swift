enum StorageTestsScaffold {}
