enum DeliveryTestsScaffold {}
