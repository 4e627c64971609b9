enum EventIngestServiceScaffold {}
