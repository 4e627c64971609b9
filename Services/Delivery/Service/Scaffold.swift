enum DeliveryServiceScaffold {}
