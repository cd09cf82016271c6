//! What a prompt pushes out of a worker's cache.
//!
//! A cache that is overwritten faster than those of the others forgets what is still wanted, while
//! theirs keep what is not. Without a price for that, one short prefix draws every new
//! conversation to the few workers that hold it (simulated: 8 of 64 got half of the requests).

/// How fast one worker's cache is overwritten.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turnover {
    /// Tokens that were sent there and not held, of the latest ones of the whole fleet that would
    /// fill all of its caches once.
    inflow: f64,
    /// The fleet's count when that was so.
    counted: f64,
    /// See [`Self::price`].
    price: f64,
}

/// Times that a cache may be filled while the fleet's are filled once, at no price. Less than once, as
/// most of a fleet can be overwritten over and over beside a few workers that get nothing new
/// (simulated: a chat with one short system prompt over 16 workers, 1.21 to 0.98 of the best peer;
/// with 0, workers of four slots have twice the mean).
const FREE: f64 = 0.7;

/// What each further time costs, as a share of the prefill that pushes something out. Half to
/// twice as much is alike (simulated).
const SHARE: f64 = 0.5;

/// Further times that count.
const MOST: f64 = 4.0;

impl Turnover {
    /// Tokens that are new in its cache were sent there; `fleet` has had so many in all, and the
    /// worker has room for `room` and all workers for `rooms`.
    pub(crate) fn note(&mut self, tokens: u32, fleet: f64, (room, rooms): (f64, f64)) {
        // Not by the exponential function, which is not the same to the last bit everywhere.
        let since = fleet - self.counted;
        let rooms = rooms.max(1.0);
        self.inflow = self.inflow * rooms / (rooms + since) + f64::from(tokens);
        self.counted = fleet;
        let times = self.inflow / room.max(1.0);
        self.price = SHARE * (times - FREE).clamp(0.0, MOST);
    }

    /// What a prompt costs there beyond its prefill, as a share of it.
    pub(crate) fn price(&self) -> f64 {
        self.price
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker of ten that gets a token of each so many, until so many times its room have been
    /// sent to the fleet.
    fn after(of_each: u32, times: u32) -> f64 {
        let (mut turnover, mut fleet) = (Turnover::default(), 0.0);
        for _ in 0..times * 10 {
            fleet += f64::from(of_each) * 100.0;
            turnover.note(100, fleet, (1_000.0, 10_000.0));
        }
        turnover.price()
    }

    #[test]
    fn only_what_is_overwritten_faster_than_the_others_has_a_price() {
        let none = 0_f64.to_bits();
        assert_eq!(after(20, 40).to_bits(), none, "half of its share");
        assert!(
            (after(10, 40) - SHARE * (1.0 - FREE)).abs() < 0.05,
            "its share"
        );
        assert!(after(1, 2) > 0.2, "all of the work, and twice its room");
        assert!(
            (after(5, 20) - SHARE * (2.0 - FREE)).abs() < 0.05,
            "twice its share"
        );
        assert_eq!(after(1, 100).to_bits(), (SHARE * MOST).to_bits());
    }
}
