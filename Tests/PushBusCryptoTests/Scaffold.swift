enum PushBusCryptoTestsScaffold {}
