enum EventIngestCoreScaffold {}
