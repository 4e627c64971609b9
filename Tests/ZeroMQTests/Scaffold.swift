enum ZeroMQTestsScaffold {}
