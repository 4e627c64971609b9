enum RelayServiceScaffold {}
