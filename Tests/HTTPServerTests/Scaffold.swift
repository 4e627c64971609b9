enum HTTPServerTestsScaffold {}
