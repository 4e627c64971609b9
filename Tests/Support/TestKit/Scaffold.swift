enum TestKitScaffold {}
