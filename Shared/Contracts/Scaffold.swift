enum ContractsScaffold {}
