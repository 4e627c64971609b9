enum FanoutTestsScaffold {}
