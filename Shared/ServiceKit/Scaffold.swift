enum ServiceKitScaffold {}
