enum TopologyScaffold {}
