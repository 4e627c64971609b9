enum RegistrationTestsScaffold {}
