import Contracts
import PushBusDevice
import Testing

@Suite struct ForegroundPresenterTests {
    private let banner = Banner(title: "T", body: "B")

    @Test func oneBannerAnEvent() throws {
        var presenter = ForegroundPresenter()
        let first = try OpenerFixture.event(1)
        let content = Opening.content(banner, eventID: first, target: nil)
        let answers = [
            presenter.presents(content, deliveryID: "a"),
            presenter.presents(content, deliveryID: "a"),
            presenter.presents(content, deliveryID: "b"),
            presenter.presents(.silent(.repeated, eventID: first), deliveryID: "c"),
            presenter.presents(
                .content(banner, eventID: try OpenerFixture.event(2), target: nil),
                deliveryID: "a"
            ),
        ]
        #expect(answers == [true, false, false, false, true])
    }

    @Test func whatCouldNotBeOpenedIsShownOnceADelivery() {
        var presenter = ForegroundPresenter()
        let generic = Opening.generic(banner, reason: .unknownKey, eventID: nil, target: nil)
        let answers = [
            presenter.presents(generic, deliveryID: "a"),
            presenter.presents(generic, deliveryID: "a"),
            presenter.presents(generic, deliveryID: "b"),
        ]
        #expect(answers == [true, false, true])
    }

    @Test func onlySoManyAreRemembered() {
        var presenter = ForegroundPresenter()
        let generic = Opening.generic(banner, reason: .malformed, eventID: nil, target: nil)
        for number in 0...ForegroundPresenter.limit {
            _ = presenter.presents(generic, deliveryID: "\(number)")
        }
        let again = presenter.presents(generic, deliveryID: "0")
        #expect(again)
    }
}
