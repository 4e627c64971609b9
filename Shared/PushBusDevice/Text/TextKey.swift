/// Every text that people see on the phone.
package enum TextKey: String, CaseIterable, Sendable {
    case genericTitle
    case genericBody
    case testTitle
    case testBody
    case alertFiringTitle
    case alertFiringBody
    case alertResolvedTitle
    case alertResolvedBody
    case securityTitle
    case securityNewLoginBody
    case securityBruteForceBody
    case securityPortScanBody
    case securityOtherBody
    case taskFailureTitle
    case taskFailureBody
    case taskSuccessTitle
    case taskSuccessBody
    case alertNotFound
    case targetOfOtherLogin
    case statusRegistered
    case statusNotRegistered
    case statusSignedOut
    case errorUnreachable
    case errorUnauthorized
    case errorForbidden
    case errorStaleRevision
    case errorThrottled
    case errorUnavailable
    case errorStorage
    case errorOther
}
