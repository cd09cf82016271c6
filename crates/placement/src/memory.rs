//! How long a new request waits for room in a worker's KV memory.
//!
//! An engine lets a request begin when its tokens fit beside those of the requests that it answers:
//! until then everybody behind waits, of which the prefill ahead says nothing. Where many branches
//! of one long prompt come at once, the worker that holds it would get them all.

/// What the requests in flight at one worker hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// Prompt tokens of all of them, and of those that are being answered.
    prompts: u64,
    answered: u64,
    /// Those of requests that wait for it at the caller.
    held: u64,
    /// What they take of it for each of these, as the engine tells: less than 1 where they share
    /// what they begin with.
    density: f64,
}

/// What one worker has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Prompt tokens that fit in beside what is there; less than none where some wait already.
    pub(crate) free_tokens: f64,
    /// The share of the memory that each prompt token takes; none where its size is not known.
    pub(crate) share: f64,
}

/// Prompts of less than such a part of the memory say little about how much they share.
const FEW: u64 = 16;

/// No prompts share more than this.
const LEAST_DENSITY: f64 = 1.0 / 64.0;

impl Default for Memory {
    fn default() -> Self {
        Self {
            prompts: 0,
            answered: 0,
            held: 0,
            density: 1.0,
        }
    }
}

impl Memory {
    /// A request of so many tokens waits at the caller.
    pub(crate) fn hold(&mut self, tokens: u32) {
        self.held += u64::from(tokens);
    }

    /// It waits no longer.
    pub(crate) fn unhold(&mut self, tokens: u32) {
        self.held -= u64::from(tokens);
    }

    /// Nothing waits for it any more.
    pub(crate) fn unhold_all(&mut self) {
        self.held = 0;
    }

    /// A request of so many tokens was sent.
    pub(crate) fn sent(&mut self, tokens: u32) {
        self.prompts += u64::from(tokens);
    }

    /// Its prompt has been prefilled.
    pub(crate) fn began(&mut self, tokens: u32) {
        self.answered += u64::from(tokens);
    }

    /// It is over, after having been prefilled.
    pub(crate) fn ended(&mut self, tokens: u32) {
        self.prompts -= u64::from(tokens);
        self.answered -= u64::from(tokens);
    }

    /// The engine said how much of its memory is in use.
    pub(crate) fn told(&mut self, kv_use: f64, size: u64) {
        if self.answered >= (size / FEW).max(1) {
            let found = kv_use * size as f64 / self.answered as f64;
            // Others' requests and answers make it more, which says nothing of ours.
            self.density += (found.clamp(LEAST_DENSITY, 1.0) - self.density) / 8.0;
        }
    }

    /// The share of the requests without a first byte that wait for room and not for prefill.
    pub(crate) fn blocked(&self, size: Option<u64>) -> f64 {
        let waiting = (self.prompts - self.answered) as f64;
        match size {
            Some(size) if waiting > 0.0 => {
                let over = self.prompts as f64 - size as f64 / self.density;
                (over / waiting).clamp(0.0, 1.0)
            }
            _ => 0.0,
        }
    }

    /// What is left of so many tokens.
    pub(crate) fn room(&self, size: Option<u64>) -> Room {
        let size = size.unwrap_or(0) as f64;
        Room {
            free_tokens: size / self.density - (self.prompts + self.held) as f64,
            share: if size > 0.0 { self.density / size } else { 0.0 },
        }
    }
}

/// How long answers stream lately, in milliseconds: so long what they hold stays taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stay {
    ms: f64,
    seen: u32,
}

impl Stay {
    pub(crate) fn note(&mut self, ms: f64) {
        self.seen = (self.seen + 1).min(32);
        self.ms += (ms - self.ms) / f64::from(self.seen);
    }

    /// What a wait costs until as much as fills the whole memory has gone. Not more than it takes:
    /// half as much again drives long conversations from full workers to other full ones.
    pub(crate) fn price_ms(self) -> f64 {
        self.ms
    }
}

impl Room {
    /// What a prompt costs that may have to wait for room; of [`Stay::price_ms`].
    #[inline]
    pub(crate) fn price_ms(&self, stay_ms: f64, prompt_tokens: f64) -> f64 {
        stay_ms * self.share * (prompt_tokens - self.free_tokens).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(memory: &Memory, size: Option<u64>, tokens: f64) -> f64 {
        memory.room(size).price_ms(1_000.0, tokens)
    }

    #[test]
    fn only_what_does_not_fit_waits() {
        let mut memory = Memory::default();
        memory.sent(600);
        memory.sent(200);
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        near(price(&memory, Some(1_000), 200.0), 0.0);
        near(price(&memory, Some(1_000), 300.0), 100.0);
        // Nothing is known of a memory of unknown size.
        near(price(&memory, None, 300.0), 0.0);
        memory.began(600);
        memory.ended(600);
        near(price(&memory, Some(1_000), 800.0), 0.0);
        near(price(&memory, Some(1_000), 900.0), 100.0);
    }

    #[test]
    fn who_waits_for_room_does_not_wait_for_prefill() {
        let mut memory = Memory::default();
        memory.sent(800);
        memory.began(800);
        (0..4).for_each(|_| memory.sent(100));
        let blocked = |size| memory.blocked(size);
        assert_eq!(
            [None, Some(1_200), Some(900)].map(blocked),
            [0.0, 0.0, 0.75]
        );
        // Held ones wait for neither.
        memory.hold(500);
        assert_eq!(memory.blocked(Some(1_200)), 0.0);
        assert!((price(&memory, Some(1_200), 0.0) - 1_000.0 * 500.0 / 1_200.0).abs() < 1e-9);
        memory.unhold(200);
        memory.unhold_all();
        assert_eq!(price(&memory, Some(1_200), 0.0), 0.0);
    }

    #[test]
    fn what_is_shared_takes_its_room_once() {
        let mut memory = Memory::default();
        (0..10).for_each(|_| memory.sent(100));
        (0..8).for_each(|_| memory.began(100));
        // Eight of them are answered in a quarter of what they would take each alone.
        (0..100).for_each(|_| memory.told(0.2, 1_000));
        let free = memory.room(Some(1_000)).free_tokens;
        assert!((free - 3_000.0).abs() < 1.0, "{free}");
        // More than theirs is others'.
        (0..100).for_each(|_| memory.told(1.0, 1_000));
        assert!((memory.room(Some(1_000)).free_tokens).abs() < 1.0);
        // Of few it could not be told.
        let mut few = Memory::default();
        few.sent(50);
        few.began(50);
        few.told(0.001, 1_000);
        assert!((few.room(Some(1_000)).free_tokens - 950.0).abs() < 1e-9);
    }

    #[test]
    fn a_stay_is_an_average_that_forgets() {
        let mut stay = Stay::default();
        assert_eq!(stay.price_ms().to_bits(), 0.0_f64.to_bits());
        stay.note(500.0);
        assert_eq!(stay.price_ms().to_bits(), 500.0_f64.to_bits());
        (0..500).for_each(|_| stay.note(100.0));
        assert!((stay.price_ms() - 100.0).abs() < 1.0);
    }
}
