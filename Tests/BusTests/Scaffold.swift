enum BusTestsScaffold {}
