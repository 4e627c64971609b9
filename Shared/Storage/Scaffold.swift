enum StorageScaffold {}
