enum APNsSimulatorScaffold {}
