enum PushBusDeviceScaffold {}
