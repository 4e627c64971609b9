enum BusScaffold {}
