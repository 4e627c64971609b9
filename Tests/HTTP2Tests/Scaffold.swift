enum HTTP2TestsScaffold {}
