enum HTTPClientScaffold {}
