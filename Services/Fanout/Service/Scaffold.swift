enum FanoutServiceScaffold {}
