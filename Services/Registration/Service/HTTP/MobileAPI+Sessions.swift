import Contracts
import HTTPServer
import RegistrationCore
import ServiceKit

/// What an account does with its sessions.
extension MobileAPI {
    func issueCode(_ caller: Caller) async throws -> HTTPResponse {
        let made = try await parts.desk.makeCountedPairingCode(
            for: caller.session.userID,
            by: caller
        )
        guard let (code, end) = made else { throw RequestProblem.unauthorized }
        return pairingCode(code, end)
    }

    func issueProof(_ body: [UInt8], _ caller: Caller) async throws -> HTTPResponse {
        let request = try Revocation.ProofRequest(parsing: body)
        let proof = try await parts.desk.makeProof(request, caller)
        return JSONReply.data { json in
            json.field("session_id", caller.session.id.text)
            json.field("proof", proof.text)
        }
    }

    /// An absent session is as good as an ended one: the phone has lost nothing by it.
    func revoke(_ body: [UInt8], from source: String) async throws -> HTTPResponse {
        let request = try Revocation.Request(parsing: body)
        switch try await parts.desk.revoke(request, from: source) {
        case .ended, .absent: return JSONReply.data { _ in }
        case .refused: throw RequestProblem.invalidCredentials
        }
    }

    func listDevices(_ caller: Caller) async throws -> HTTPResponse {
        let devices = try await parts.store.devices(
            of: caller.session.userID,
            now: parts.time.wall.second
        )
        return JSONReply.data { json in
            json.key("devices")
            json.array { json in
                for device in devices {
                    json.object { JSONReply.device(device, caller, &$0) }
                }
            }
        }
    }

    func endDevice(_ id: SessionID, _ caller: Caller) async throws -> HTTPResponse {
        let ended = try await parts.store.endSession(
            id,
            of: caller.session.userID,
            now: parts.time.wall.second
        )
        guard ended else { throw RequestProblem.notFound }
        return JSONReply.data { _ in }
    }
}
