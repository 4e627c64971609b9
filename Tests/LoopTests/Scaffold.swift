enum LoopTestsScaffold {}
