enum PushBusDeviceTestsScaffold {}
