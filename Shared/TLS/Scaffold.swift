enum TLSScaffold {}
