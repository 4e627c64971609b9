import Bus
import Contracts
import HTTPServer
import PushBusCrypto
import RegistrationCore
import ServiceKit
import Storage

/// The endpoints of the app (README of this service).
package struct MobileAPI: HTTPHandler {
    /// What the endpoints work with.
    package struct Parts: Sendable {
        package var store: any RegistrationStore
        package var desk: SessionDesk
        package var accounts: AccountDesk
        package var vault: ContentKeyVault
        package var deployment: DeploymentID
        /// Where phones reach this server, once that is known.
        package var serverURL: @Sendable () -> String
        package var receipts: any ReceiptSource
        package var relay: RelayStanding
        /// Tells the publisher that a test was committed.
        package var testCommitted: @Sendable () -> Void
        package var time: any TimeSource
        package var metrics: Metrics
        package var log: Log

        package init(
            store: any RegistrationStore,
            desk: SessionDesk,
            accounts: AccountDesk,
            vault: ContentKeyVault,
            deployment: DeploymentID,
            serverURL: @escaping @Sendable () -> String,
            receipts: any ReceiptSource,
            relay: RelayStanding,
            testCommitted: @escaping @Sendable () -> Void,
            time: any TimeSource,
            metrics: Metrics,
            log: Log
        ) {
            self.store = store
            self.desk = desk
            self.accounts = accounts
            self.vault = vault
            self.deployment = deployment
            self.serverURL = serverURL
            self.receipts = receipts
            self.relay = relay
            self.testCommitted = testCommitted
            self.time = time
            self.metrics = metrics
            self.log = log
        }
    }

    /// Bytes of the largest body.
    package static let bodyLimit = 8192

    let parts: Parts

    package init(_ parts: Parts) { self.parts = parts }

    package func admit(_ head: HTTPRequestHead) -> HTTPAdmission {
        do throws(RequestProblem) {
            let route = try MobileRoute.find(head)
            if route.takesBody { try checkMediaType(head, required: route.needsBody) }
            if route.needsSession, bearer(head) == nil { throw .unauthorized }
            return .read(limit: route.takesBody ? Self.bodyLimit : 0)
        } catch {
            count(error.status)
            return .respond(JSONReply.problem(error, for: head))
        }
    }

    package func respond(_ request: HTTPRequest) async -> HTTPResponse {
        let response: HTTPResponse
        do {
            response = try await answer(request)
        } catch {
            response = JSONReply.problem(explain(error), for: request.head)
        }
        count(response.status)
        return response
    }

    package func refusal(_ refusal: HTTPRefusal, _ head: HTTPRequestHead) -> HTTPResponse {
        count(refusal.status)
        let problem =
            switch refusal {
            case .malformed:
                RequestProblem(400, "malformed_request", "The head can be read in two ways.")
            case .bodyTooLarge:
                RequestProblem(413, "request_too_large", "A body has at most 8192 bytes.")
            case .uploadTimeout:
                RequestProblem(408, "request_timeout", "The body took longer than 5 seconds.")
            case .deadline, .busy, .stopping: RequestProblem.busy
            }
        return JSONReply.problem(problem, for: head)
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let route = try MobileRoute.find(request.head)
        let (body, source) = (request.body, request.head.source)
        switch route {
        case .login:
            return try grant(await parts.desk.login(LoginRequest(parsing: body), from: source))
        case .pair:
            return try grant(await parts.desk.pair(PairRequest(parsing: body), from: source))
        case .refresh:
            return try grant(await parts.desk.refresh(RefreshRequest(parsing: body), from: source))
        case .revoke:
            return try await revoke(body, from: source)
        case .openRecovery:
            return try await openRecovery(body, from: source)
        case .listRecovery:
            return try await listRecovery(request.head)
        case .endRecovered(let id):
            return try await endRecovered(id, request.head)
        default:
            return try await answer(request, route, try await authenticate(request.head))
        }
    }

    private func answer(
        _ request: HTTPRequest,
        _ route: MobileRoute,
        _ caller: Caller
    ) async throws -> HTTPResponse {
        switch route {
        case .logout:
            try requireEmpty(request.body)
            try await parts.desk.logout(caller)
            return JSONReply.data { _ in }
        case .readSettings:
            return try await settings(
                parts.store.settings(of: caller, now: parts.time.wall.second)
            )
        case .saveSettings:
            let update = try SettingsUpdate(parsing: request.body)
            return try await settings(
                parts.store.save(update, by: caller, now: parts.time.wall.second)
            )
        case .register:
            return try await settings(register(request.body, caller))
        case .requestTest:
            return try await requestTest(request.body, caller)
        case .readTest(let id):
            return try await readTest(id, caller)
        case .issueCode:
            try requireEmpty(request.body)
            return try await issueCode(caller)
        case .issueProof:
            return try await issueProof(request.body, caller)
        case .listDevices:
            return try await listDevices(caller)
        case .endDevice(let id):
            return try await endDevice(id, caller)
        default:
            return try await administer(request, route, caller)
        }
    }

    /// Adds to the view of the store what else stands in the way of a delivery.
    private func settings(_ view: SettingsView) async -> HTTPResponse {
        var obstacle = view.obstacle(now: parts.time.wall.second)
        if obstacle == nil || obstacle == .sessionExpiring, await !parts.relay.isConfigured() {
            obstacle = .relayNotConfigured
        }
        return JSONReply.settings(view, obstacle)
    }

    private func register(_ body: [UInt8], _ caller: Caller) async throws -> SettingsView {
        let request = try EncryptedRegistration(parsing: body)
        guard request.deploymentID == parts.deployment else {
            throw RequestProblem.wrongDeployment
        }
        guard await parts.relay.isConfigured() else { throw RequestProblem.relayNotConfigured }
        let now = parts.time.wall
        return try await parts.vault.sealing { sealer in
            let registration = DeviceRegistration(
                sessionID: caller.session.id,
                deploymentID: request.deploymentID,
                token: request.deviceToken,
                environment: request.environment,
                keyID: request.keyID,
                keyDigest: ContentKeyVault.digest(request.contentKey, id: request.keyID),
                sealedKey: try sealer.seal(
                    request.contentKey,
                    id: request.keyID,
                    of: caller.session.installationID
                ),
                confirmedAt: now
            )
            return try await parts.store.register(
                registration,
                expectedRevision: request.expectedRevision,
                by: caller,
                now: now
            )
        }
    }

    private func requestTest(_ body: [UInt8], _ caller: Caller) async throws -> HTTPResponse {
        let test = try await parts.store.requestTest(
            TestRequest(parsing: body),
            by: caller,
            now: parts.time.wall.second
        )
        parts.testCommitted()
        return JSONReply.test(test, await outcome(ofRequested: test))
    }

    /// A repeat is told what became of the test as far as that is known. While Delivery is silent
    /// nothing final is said, or an accepted test would look expired.
    private func outcome(ofRequested test: TestNotification) async -> TestOutcome {
        let now = parts.time.wall.second
        if case .refused = test.progress { return TestOutcome(test, receipt: nil, now: now) }
        guard test.progress != .unsent || test.createdAt < now else { return .queued }
        do {
            let receipt = try await parts.receipts.receipt(of: test)
            return TestOutcome(test, receipt: receipt, now: parts.time.wall.second)
        } catch {
            return .queued
        }
    }

    private func readTest(_ id: EventID, _ caller: Caller) async throws -> HTTPResponse {
        guard let test = try await parts.store.test(id, of: caller) else {
            throw RequestProblem.notFound
        }
        let receipt: ReceiptQueryAnswer.Receipt?
        if case .refused = test.progress {
            receipt = nil
        } else {
            receipt = try await parts.receipts.receipt(of: test)
        }
        return JSONReply.test(
            test,
            TestOutcome(test, receipt: receipt, now: parts.time.wall.second)
        )
    }

    // MARK: Details

    private func grant(_ grant: SessionDesk.Grant?) throws -> HTTPResponse {
        guard let grant else { throw RequestProblem.invalidCredentials }
        return JSONReply.session(
            grant,
            deployment: parts.deployment,
            now: parts.time.wall.second
        )
    }

    private func authenticate(_ head: HTTPRequestHead) async throws -> Caller {
        guard let token = bearer(head), let caller = try await parts.desk.caller(accessToken: token)
        else { throw RequestProblem.unauthorized }
        return caller
    }

    func bearer(_ head: HTTPRequestHead) -> Substring? {
        guard let value = head.headers["Authorization"], value.utf8.count <= 512,
            value.prefix(7).lowercased() == "bearer "
        else { return nil }
        let token = value.dropFirst(7).drop { $0 == " " }
        return token.isEmpty ? nil : token
    }

    func requireEmpty(_ body: [UInt8]) throws {
        guard !body.isEmpty else { return }
        let value = try? StrictJSON(parsing: body, depth: 1)
        guard value?.members?.isEmpty == true else {
            throw RequestProblem.invalid("The body must be empty or {}.")
        }
    }

    private func checkMediaType(
        _ head: HTTPRequestHead,
        required: Bool
    ) throws(RequestProblem) {
        if let encoding = head.headers["Content-Encoding"], encoding.lowercased() != "identity" {
            throw .unsupportedMediaType
        }
        let length = head.headers["Content-Length"] ?? "0"
        if !required, length == "0", head.headers["Transfer-Encoding"] == nil { return }
        guard let type = head.headers["Content-Type"] else { throw .unsupportedMediaType }
        let essence = type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
        guard essence.lowercased() == "application/json" else { throw .unsupportedMediaType }
    }

    private func count(_ status: Int) {
        parts.metrics.counter(
            "pushbus_registration_http_responses_total",
            help: "Replies to apps by status",
            labels: ["status": String(status)]
        ).add()
    }

    /// What the app is told about an error; what it says about itself goes to the log alone.
    private func explain(_ error: any Error) -> RequestProblem {
        switch error {
        case let problem as RequestProblem: return problem
        case is PasswordThread.Full: return .busy
        case let failure as StorageError:
            parts.log.error("store failed", ["error": .error(failure)])
            return .storeUnavailable
        case is BusFailure:
            return .deliveryUnavailable
        default:
            parts.log.error("request failed", ["error": .string("\(type(of: error))")])
            return RequestProblem(500, "failed", "Something went wrong here. Try again later.")
        }
    }
}
