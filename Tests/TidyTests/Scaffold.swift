enum TidyTestsScaffold {}
