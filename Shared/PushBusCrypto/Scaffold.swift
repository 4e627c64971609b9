enum PushBusCryptoScaffold {}
