enum ZeroMQScaffold {}
