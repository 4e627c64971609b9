enum RegistrationServiceScaffold {}
