enum ServiceKitTestsScaffold {}
