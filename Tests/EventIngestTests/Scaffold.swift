enum EventIngestTestsScaffold {}
