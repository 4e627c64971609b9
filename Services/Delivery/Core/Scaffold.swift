enum DeliveryCoreScaffold {}
