enum RelayTestsScaffold {}
