enum APNsSimulatorTestsScaffold {}
