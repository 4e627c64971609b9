import Contracts
import HTTPServer
import RegistrationCore

/// The shapes of what the app reads: `{"data":…}` or `{"error":…}`.
enum JSONReply {
    static func data(_ body: (inout CompactJSON) -> Void) -> HTTPResponse {
        var json = CompactJSON(reservingBytes: 512)
        json.object { json in
            json.key("data")
            json.object(body)
        }
        return .json(200, json.bytes, headers: [("Cache-Control", "no-store")])
    }

    static func problem(_ problem: RequestProblem, for head: HTTPRequestHead) -> HTTPResponse {
        var json = CompactJSON(reservingBytes: 256)
        json.object { json in
            json.key("error")
            json.object { json in
                json.field("code", problem.code)
                json.field("message", problem.message)
            }
        }
        var headers = [("Cache-Control", "no-store")]
        switch problem.status {
        case 401: headers.append(("WWW-Authenticate", "Bearer"))
        case 405: headers.append(("Allow", MobileRoute.methods(of: head.path)))
        default: break
        }
        if let seconds = problem.retryAfter { headers.append(("Retry-After", String(seconds))) }
        return .json(problem.status, json.bytes, headers: headers)
    }

    static func session(
        _ grant: SessionDesk.Grant,
        deployment: DeploymentID,
        now: UnixSeconds
    ) -> HTTPResponse {
        let session = grant.caller.session
        return data { json in
            json.field("access_token", grant.accessToken.text)
            json.field("refresh_token", grant.refreshToken.text)
            json.field("expires_in", session.accessExpiresAt.seconds - now.seconds)
            json.field("session_expires_at", session.expiresAt.seconds)
            json.field("session_id", session.id.text)
            json.field("user_id", session.userID.text)
            json.field("role", grant.caller.role.rawValue)
            json.field("deployment_id", deployment.text)
            json.field("installation_id", session.installationID.text)
        }
    }

    static func device(_ device: Device, _ caller: Caller?, _ json: inout CompactJSON) {
        json.field("session_id", device.sessionID.text)
        json.field("installation_id", device.installationID.text)
        json.field("name", device.name)
        json.field("paired_at", device.pairedAt.seconds)
        json.field("last_active_at", device.lastActiveAt.seconds)
        json.field("expires_at", device.expiresAt.seconds)
        if let caller { json.flag("current", device.sessionID == caller.session.id) }
    }

    static func settings(_ view: SettingsView, _ obstacle: DeliveryObstacle?) -> HTTPResponse {
        data { json in
            json.field("revision", view.revision)
            json.key("preferences")
            json.object { json in
                json.flag("enabled", view.preferences.enabled)
                json.flag("alerts", view.preferences.alerts)
                json.flag("security", view.preferences.security)
                json.flag("task_failure", view.preferences.taskFailure)
                json.flag("task_success", view.preferences.taskSuccess)
            }
            json.flag("security_allowed", view.securityAllowed)
            json.flag("tasks_allowed", view.tasksAllowed)
            json.flag("task_failure_available", view.tasksAllowed)
            json.flag("registered", view.registered)
            json.flag("delivery_available", obstacle == nil)
            json.flag("test_available", obstacle == nil || obstacle == .sessionExpiring)
            if let obstacle { json.field("delivery_unavailable_reason", obstacle.rawValue) }
        }
    }

    static func test(_ test: TestNotification, _ outcome: TestOutcome) -> HTTPResponse {
        data { json in
            json.field("event_id", test.eventID.description)
            json.field("outcome", outcome.outcome)
            json.field("reason", outcome.reason)
            json.field("presentation", "unobserved")
        }
    }
}

extension CompactJSON {
    fileprivate mutating func flag(_ name: String, _ flag: Bool) {
        key(name)
        value(flag)
    }
}
