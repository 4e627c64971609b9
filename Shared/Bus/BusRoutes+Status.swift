import Contracts
import Glibc
import ServiceKit

extension BusRoutes {
    /// Answers `service.status.v1` from what the process knows about itself.
    package mutating func answerStatus(of context: ProcessContext) {
        answer(ServiceStatus.self) { (_, _) throws(Reject) in
            var conditions: [String: String] = [:]
            for (name, standing) in context.readiness.conditions {
                conditions[name] = standing.reason ?? ""
            }
            return ServiceStatusAnswer(
                service: context.name,
                version: context.version,
                processID: Int64(getpid()),
                ready: context.readiness.isReady,
                conditions: conditions,
                metrics: context.metrics.snapshot()
            )
        }
    }
}
