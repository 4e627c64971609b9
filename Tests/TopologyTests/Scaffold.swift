enum TopologyTestsScaffold {}
