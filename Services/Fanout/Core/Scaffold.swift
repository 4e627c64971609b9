enum FanoutCoreScaffold {}
