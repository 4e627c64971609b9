enum RegistrationCoreScaffold {}
