enum SystemTestsScaffold {}
