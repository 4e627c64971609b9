enum HTTPServerScaffold {}
