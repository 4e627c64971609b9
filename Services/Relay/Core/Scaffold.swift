enum RelayCoreScaffold {}
