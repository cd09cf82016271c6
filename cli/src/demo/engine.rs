//! A model of an inference engine: prefills one after the other, a prefix cache, decoding step by step.
//!
//! Time is spent by sleeping, so the model costs hardly any processor time. The constants are those
//! of a 70B-class model on one eight-GPU replica.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::cache::{Admitted, BlockCache, PromptBlocks};

/// One engine.
#[derive(Debug)]
pub(super) struct Engine {
    /// Whoever holds it is in prefill; the others queue in order of arrival.
    prefill: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

/// What an engine counts; most of it is shown under `/metrics`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) running: usize,
    pub(super) waiting: usize,
    /// The part of the cache that running requests hold, 0 to 1.
    pub(super) kv_use: f64,
    pub(super) requests: usize,
    pub(super) prompt_tokens: usize,
    pub(super) cached_tokens: usize,
}

#[derive(Debug)]
struct State {
    cache: BlockCache,
    counts: Counts,
    /// Prompt tokens of the requests that run now.
    running_tokens: usize,
}

impl Engine {
    pub(super) fn new(cache_blocks: usize) -> Self {
        Self {
            prefill: tokio::sync::Mutex::new(()),
            state: Mutex::new(State {
                cache: BlockCache::new(cache_blocks),
                counts: Counts::default(),
                running_tokens: 0,
            }),
        }
    }

    /// Waits for its turn and computes what the cache does not hold. Dropping the future gives up.
    pub(super) async fn prefill(self: &Arc<Self>, prompt: PromptBlocks) -> Running {
        let waiting = Waiting::enter(self);
        let turn = self.prefill.lock().await;
        drop(waiting);
        let running = Running::admit(self, &prompt);
        sleep(prefill_time(running.prompt_tokens, running.cached_tokens())).await;
        drop(turn);
        running
    }

    pub(super) fn counts(&self) -> Counts {
        let state = self.state();
        Counts {
            kv_use: state.cache.pinned_share(),
            ..state.counts
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Counters and cache are valid after every statement, so a panic elsewhere does not spoil them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in the queue; counted as long as it lives.
struct Waiting<'a>(&'a Engine);

impl<'a> Waiting<'a> {
    fn enter(engine: &'a Engine) -> Self {
        engine.state().counts.waiting += 1;
        Self(engine)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().counts.waiting -= 1;
    }
}

/// A request that was admitted; it holds its blocks until it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    engine: Arc<Engine>,
    admitted: Admitted,
    prompt_tokens: usize,
}

impl Running {
    fn admit(engine: &Arc<Engine>, prompt: &PromptBlocks) -> Self {
        let mut state = engine.state();
        let admitted = state.cache.admit(prompt);
        let prompt_tokens = prompt.tokens();
        state.running_tokens += prompt_tokens;
        state.counts.running += 1;
        state.counts.requests += 1;
        state.counts.prompt_tokens += prompt_tokens;
        state.counts.cached_tokens += admitted.cached_tokens;
        drop(state);
        Self {
            engine: Arc::clone(engine),
            admitted,
            prompt_tokens,
        }
    }

    pub(super) fn prompt_tokens(&self) -> usize {
        self.prompt_tokens
    }

    pub(super) fn cached_tokens(&self) -> usize {
        self.admitted.cached_tokens
    }

    /// One step of decoding, shared by all that run.
    pub(super) async fn decode(&self) {
        let step = {
            let state = self.engine.state();
            decode_time(state.counts.running, state.running_tokens)
        };
        sleep(step).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.engine.state();
        state.cache.release(&self.admitted);
        state.counts.running -= 1;
        state.running_tokens -= self.prompt_tokens;
    }
}

/// Every uncached token costs its layers and its attention to all tokens before it.
fn prefill_time(prompt_tokens: usize, cached_tokens: usize) -> Duration {
    let cached = cached_tokens as f64;
    let uncached = (prompt_tokens.saturating_sub(cached_tokens)).max(1) as f64;
    millis(8.0 + 0.06 * uncached + 6e-7 * uncached * (cached + uncached / 2.0))
}

fn decode_time(batch: usize, running_tokens: usize) -> Duration {
    millis(12.0 + 0.08 * batch as f64 + 2e-5 * running_tokens as f64)
}

fn millis(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_second_turn_computes_only_what_is_new() {
        let engine = Arc::new(Engine::new(1000));
        let first = "system and history ".repeat(400);
        let cold = engine.prefill(PromptBlocks::of(&first)).await;
        assert_eq!(cold.cached_tokens(), 0);
        drop(cold);
        let warm = engine
            .prefill(PromptBlocks::of(&format!("{first} next")))
            .await;
        assert!(warm.prompt_tokens() - warm.cached_tokens() < 32);
        let counts = engine.counts();
        assert_eq!((counts.running, counts.waiting, counts.requests), (1, 0, 2));
        assert!(counts.kv_use > 0.0);
        drop(warm);
        assert_eq!(engine.counts().kv_use, 0.0);
    }

    #[tokio::test(start_paused = true)]
    async fn prefills_wait_for_each_other() {
        let engine = Arc::new(Engine::new(1000));
        let begun = tokio::time::Instant::now();
        let prompt = PromptBlocks::of(&"a".repeat(8000));
        let other = PromptBlocks::of(&"b".repeat(8000));
        let (_one, _two) = tokio::join!(engine.prefill(prompt), engine.prefill(other));
        assert!(begun.elapsed() >= 2 * prefill_time(2000, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_leaves_the_queue_is_not_counted() {
        let engine = Arc::new(Engine::new(1000));
        let long = engine.prefill(PromptBlocks::of(&"a".repeat(80_000)));
        let short = tokio::time::timeout(
            Duration::from_millis(1),
            engine.prefill(PromptBlocks::of("short")),
        );
        let (_long, short) = tokio::join!(long, short);
        assert!(short.is_err());
        assert_eq!((engine.counts().waiting, engine.counts().requests), (0, 1));
    }

    #[test]
    fn a_hit_is_much_cheaper_than_a_miss() {
        assert!(prefill_time(4000, 3900) * 10 < prefill_time(4000, 0));
        assert!(decode_time(8, 32_000) > decode_time(1, 4000));
    }
}
