enum HTTPClientTestsScaffold {}
