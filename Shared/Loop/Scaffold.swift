enum LoopScaffold {}
