extension TextTable {
    static let english: [TextKey: String] = [
        .genericTitle: "{app}",
        .genericBody: "Open {app} to view this notification.",
        .testTitle: "Test notification",
        .testBody: "Notifications reach this phone.",
        .alertFiringTitle: "Alert: {rule}",
        .alertFiringBody: "{server} needs attention.",
        .alertResolvedTitle: "Resolved: {rule}",
        .alertResolvedBody: "{server} is back to normal.",
        .securityTitle: "Security event",
        .securityNewLoginBody: "SSH login from a new address on {server}.",
        .securityBruteForceBody: "Repeated failed SSH logins on {server}.",
        .securityPortScanBody: "Port scan against {server}.",
        .securityOtherBody: "Something was detected on {server}.",
        .taskFailureTitle: "Task failed",
        .taskFailureBody:
            "Of {total}: {failed} failed, {timed_out} timed out, {offline} offline, "
            + "{denied} denied.",
        .taskSuccessTitle: "Task finished",
        .taskSuccessBody: "All {total} succeeded.",
        .alertNotFound: "Alert not found",
        .targetOfOtherLogin: "This notification was for another sign-in.",
        .targetGone: "What this notification is about no longer exists.",
        .targetForbidden: "This account may not see that.",
        .targetUnreachable: "The server cannot be reached. Try again.",
        .targetUnknown: "Nothing more is known about this notification.",
        .disclosureTitle: "Before notifications are switched on",
        .disclosureIntroduction:
            "Notifications travel through a relay of the app's publisher. It cannot read "
            + "them, but it sees:",
        .disclosureToken: "this phone's push token",
        .disclosureEnvironment: "the push environment (sandbox or production)",
        .disclosureSourceAddress: "the IP address that your server sends from",
        .disclosureTiming: "when notifications are sent",
        .disclosureSize: "how large they are",
        .disclosureEvent: "the id of the event and when it expires",
        .disclosureKeyID: "the id of the content key, not the key",
        .disclosureIdentity: "a hash that stands for server, account and phone",
        .disclosureCiphertext: "the encrypted content",
        .disclosurePublicEndpoint:
            "The relay is a public endpoint without a password: whoever learns this "
            + "phone's push token can send it meaningless or repeated notifications. They "
            + "cannot forge content.",
        .statusSignedIn: "Signed in as {user} at {server}.",
        .statusSignedOut: "Signed out.",
        .statusEnded: "The server ended this sign-in. Sign in again.",
        .statusLost:
            "{server} no longer accepts the sign-in of {user}. Recover the session before "
            + "you go on.",
        .statusCleanupWaiting:
            "Earlier sign-ins that are still to be ended at their servers: {count}.",
        .statusSessionExpiring:
            "This sign-in ends soon. Sign in again to go on receiving notifications.",
        .statusNoProof:
            "Settings can be changed once the server has confirmed how this sign-in can be ended.",
        .permissionNotAsked: "This phone has not been asked to allow notifications.",
        .permissionDenied:
            "Notifications are not allowed on this phone. Allow them in the system settings.",
        .permissionGranted: "This phone allows notifications.",
        .statusRegistered: "Notifications are on.",
        .statusNotRegistered: "This phone is not registered for notifications.",
        .statusOff: "Notifications are switched off.",
        .statusRegistrationFailed: "Registering this phone did not work.",
        .statusUnconfirmed: "Your choices are not saved yet.",
        .deliveryNotEnabled: "Notifications are not enabled on the server.",
        .deliverySuspect: "The push service refused this phone. Register it again.",
        .deliveryOwnedElsewhere: "Another account still owns this phone on the server.",
        .deliveryRelayMissing: "The server has no relay to send with.",
        .deliverySessionExpiring: "The server stops sending soon because this sign-in ends.",
        .deliveryUnavailable: "The server cannot deliver notifications now.",
        .actionSignIn: "Sign in",
        .actionRecoverSession: "Recover session",
        .actionShowDisclosure: "Read and continue",
        .actionRetry: "Retry",
        .actionOpenSystemSettings: "Open system settings",
        .actionDismiss: "Dismiss",
        .recoveryExplanation:
            "Show the account again and choose the session to end. Nothing is chosen for "
            + "you, and you are not signed in by it.",
        .recoveryDone: "The session is ended. You can sign in again.",
        .signOutPending:
            "Signed out on this phone. The server is told as soon as it can be reached.",
        .errorAddress: "This server address cannot be used.",
        .errorUnreachable: "The server cannot be reached. Check the connection and try again.",
        .errorRedirected:
            "The server points elsewhere, which the app does not follow. Check the address.",
        .errorMalformedReply: "This is not a server of the app, or something answers in its place.",
        .errorSignedOut: "Sign in first.",
        .errorAlreadySignedIn: "Somebody is signed in here. Sign out first.",
        .errorUnauthorized: "Not accepted. Check what you entered and sign in again.",
        .errorOneTimeCode: "This account asks for a one-time code.",
        .errorForbidden: "This account may not do that.",
        .errorOwnedElsewhere:
            "Another account still owns this phone on the server. Sign out there first.",
        .errorStaleRevision: "The settings changed elsewhere. Check them and save again.",
        .errorRefused: "The server did not accept this.",
        .errorUnsupported: "This server is too old for that.",
        .errorThrottled: "Too many tries. Wait a moment.",
        .errorUnavailable: "The server is busy. Try again later.",
        .errorStorage: "This phone could not save its data. Free some space and try again.",
        .errorToken: "The push service gave this phone no token. Try again.",
        .errorSuperseded: "The sign-in changed meanwhile. Try again.",
        .errorRecoverSession: "Recover the session first.",
        .errorProofMissing:
            "The server has not yet said how this sign-in can be ended. Connect to it and "
            + "try again.",
        .errorCleanupFull:
            "Too many earlier sign-ins wait to be ended. Connect to their servers first.",
        .errorOtherAccount: "The session belongs to another account.",
        .errorOther: "Something went wrong. Try again.",
    ]
}
