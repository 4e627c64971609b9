enum ContractsTestsScaffold {}
