import ServiceKit

/// What happens to the next requests: outcomes that are used up in order, or a mix of which each
/// request draws one.
struct ScriptQueue: Sendable {
    /// Most outcomes of one script.
    static let maximumOutcomes = 1_000

    private var outcomes: [ScriptedOutcome]
    private let isMix: Bool
    private var index = 0
    private var used = 0

    init(_ outcomes: [ScriptedOutcome], isMix: Bool = false) {
        self.outcomes = outcomes
        self.isMix = isMix
    }

    /// The outcome for the next request, nil for an ordinary answer.
    mutating func next(_ random: RandomSource) -> ScriptedOutcome? {
        guard !isMix else { return draw(Int(random.uniform(below: 1_000_000))) }
        guard index < outcomes.count else { return nil }
        let outcome = outcomes[index]
        used += 1
        if outcome.count != 0, used >= outcome.count {
            index += 1
            used = 0
        }
        return outcome
    }

    private func draw(_ number: Int) -> ScriptedOutcome? {
        var end = 0
        for outcome in outcomes {
            end += outcome.perMillion
            if number < end { return outcome }
        }
        return nil
    }

    /// Whether the next request gets an answer before its body; a mix gives none.
    var isNextEarly: Bool { !isMix && index < outcomes.count && outcomes[index].isEarly }

    /// Nothing is left; a mix is never used up.
    var isEmpty: Bool { index >= outcomes.count }
}

extension ScriptQueue: Decodable {
    private enum Key: String, CodingKey {
        case outcomes, mix
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let mix = try values.decodeIfPresent([ScriptedOutcome].self, forKey: .mix)
        let isMix = mix != nil
        let outcomes = try mix ?? values.decode([ScriptedOutcome].self, forKey: .outcomes)
        func hold(_ isHeld: Bool, _ text: String) throws {
            guard !isHeld else { return }
            throw DecodingError.dataCorruptedError(
                forKey: isMix ? .mix : .outcomes,
                in: values,
                debugDescription: text
            )
        }
        try hold(
            outcomes.count <= Self.maximumOutcomes,
            "has to hold at most \(Self.maximumOutcomes) outcomes"
        )
        if isMix {
            try hold(
                outcomes.reduce(0) { $0 + $1.perMillion } <= 1_000_000,
                "has to have per_million of at most 1000000 in all"
            )
            try hold(!outcomes.contains(where: \.isEarly), "cannot hold early answers")
        }
        self.init(outcomes, isMix: isMix)
    }
}
