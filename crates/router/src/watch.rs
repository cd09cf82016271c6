//! Asks every worker how it is: `/metrics` for its load, `/health` for its life.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use headwater_placement::At;
use hyper::StatusCode;

use crate::endpoint::Endpoint;
use crate::engines::Reading;
use crate::member::{Health, Process};
use crate::probe::{NoAnswer, Probe};
use crate::shared::Shared;

/// More text than this is no metrics page.
const LARGEST_SCRAPE: usize = 4 << 20;

/// Long: a busy engine answers late.
pub(crate) const SCRAPE_TIME: Duration = Duration::from_secs(5);

/// Nor is this an answer about health.
const LARGEST_HEALTH: usize = 64 << 10;

/// Reads a worker's load for as long as it is known.
pub(crate) async fn metrics(shared: Arc<Shared>, endpoint: Arc<Endpoint>) {
    let settings = &shared.config.metrics;
    let of = (Arc::clone(&shared), Arc::clone(&endpoint));
    let mut probe = Probe::new(of, &settings.path, SCRAPE_TIME);
    let mut jitter = Jitter::new(&endpoint);
    loop {
        match scrape(&mut probe).await {
            Some(page) => {
                // No sign of life: an engine's scheduler can hang behind a page that answers.
                let at = shared.now();
                let reading = Reading::of(&text_of(&page));
                shared.roster(endpoint.pool).scraped(at, &endpoint, reading);
            }
            None => endpoint.scrape_errors.add(1),
        }
        tokio::time::sleep(jitter.next(settings.interval_ms, shared.now())).await;
    }
}

/// Asks a worker for its health for as long as it is known.
pub(crate) async fn health(shared: Arc<Shared>, endpoint: Arc<Endpoint>) {
    let settings = &shared.config.health;
    let of = (Arc::clone(&shared), Arc::clone(&endpoint));
    let patience = Duration::from_millis(settings.timeout_ms);
    let mut probe = Probe::new(of, &settings.path, patience);
    let mut jitter = Jitter::new(&endpoint);
    let busy = Duration::from_secs(settings.busy_seconds);
    // Since when it has been silent, and shown no other sign of life.
    let mut silent: Option<Instant> = None;
    loop {
        let (asked, signs) = (Instant::now(), endpoint.signs());
        let found = match probe.ask(LARGEST_HEALTH).await {
            Ok((status, _)) => Finding::of_status(status),
            Err(why) => Finding::of_silence(why),
        };
        let since = *silent.get_or_insert(asked);
        if found != Finding::Silent || endpoint.signs() != signs {
            silent = None;
        }
        let why = found.as_str();
        match found {
            Finding::Alive => {
                endpoint.lives();
                shared.set_health(&endpoint, Health::Up, Process::AsBefore, why);
            }
            Finding::Declines => {
                shared.set_health(&endpoint, Health::Down, Process::AsBefore, why);
            }
            Finding::Refused => shared.set_health(&endpoint, Health::Down, Process::Gone, why),
            Finding::Nothing => {}
            // Too busy for this question, but not for its work.
            Finding::Silent if silent.is_none() => {}
            // It may be at a long prompt of ours: others are preferred, and it is not dead.
            Finding::Silent
                if since.elapsed() < busy && shared.roster(endpoint.pool).is_busy(&endpoint) =>
            {
                if endpoint.failed() >= settings.failures {
                    let until_next = patience + Duration::from_millis(2 * settings.interval_ms);
                    shared.press(&endpoint, until_next);
                }
            }
            Finding::Silent | Finding::Failing => shared.failed(&endpoint, why),
        }
        tokio::time::sleep(jitter.next(settings.interval_ms, shared.now())).await;
    }
}

/// What one question showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Alive,
    /// It says itself that it should get nothing.
    Declines,
    /// Nobody listens.
    Refused,
    /// No answer in time.
    Silent,
    Failing,
    /// This process could not ask.
    Nothing,
}

impl Finding {
    /// A server that knows no such page is alive all the same.
    fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::SERVICE_UNAVAILABLE => Self::Declines,
            status if status.is_server_error() => Self::Failing,
            _ => Self::Alive,
        }
    }

    fn of_silence(why: NoAnswer) -> Self {
        match why {
            NoAnswer::Refused => Self::Refused,
            NoAnswer::Silent => Self::Silent,
            NoAnswer::Failed => Self::Failing,
            NoAnswer::Exhausted => Self::Nothing,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Alive => "health_ok",
            Self::Declines => "health_503",
            Self::Refused => "health_refused",
            Self::Silent => "health_timeout",
            Self::Failing => "health_failed",
            Self::Nothing => "router_exhausted",
        }
    }
}

async fn scrape(probe: &mut Probe) -> Option<Bytes> {
    let (status, page) = probe.ask(LARGEST_SCRAPE).await.ok()?;
    status.is_success().then_some(page)
}

/// A page as text. Nearly all are text, which is found many times as fast as what to replace.
fn text_of(page: &[u8]) -> Cow<'_, str> {
    str::from_utf8(page).map_or_else(|_| String::from_utf8_lossy(page), Cow::Borrowed)
}

/// Spreads the questions of many routers and workers over time.
struct Jitter(u64);

impl Jitter {
    fn new(endpoint: &Endpoint) -> Self {
        Self(u64::from_le_bytes(*endpoint.id.as_bytes()) | 1)
    }

    /// How long to wait at a moment: the time, give or take a tenth, up to the next stroke of a
    /// clock that all questions of this router share. Asked together, they wake it less often.
    fn next(&mut self, ms: u64, now: At) -> Duration {
        const STROKE_MICROS: u64 = 25_000;
        let near = u64::try_from(self.near(ms).as_micros()).unwrap_or(u64::MAX);
        let due = now.micros().saturating_add(near);
        let due = due.checked_next_multiple_of(STROKE_MICROS).unwrap_or(due);
        Duration::from_micros(due - now.micros())
    }

    /// The time, give or take a tenth.
    fn near(&mut self, ms: u64) -> Duration {
        // Xorshift: any sequence without a pattern does.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let micros = ms.saturating_mul(1_000);
        let width = micros / 5;
        let offset = self.0 % width.max(1);
        Duration::from_micros((micros - width / 2).saturating_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Signal;

    #[test]
    fn only_a_worker_that_says_so_declines() {
        let check = |status: u16, expected| {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(Finding::of_status(status), expected, "{status}");
        };
        check(200, Finding::Alive);
        check(404, Finding::Alive);
        check(401, Finding::Alive);
        check(503, Finding::Declines);
        check(500, Finding::Failing);
    }

    #[test]
    fn a_page_that_is_no_text_in_one_place_is_read_in_the_others() {
        let page = b"# HELP \xff\nvllm:num_requests_running{model=\"\xff\"} 3\n";
        let reading = Reading::of(&text_of(page));
        assert_eq!(reading.count(Signal::Running), Some(3));
    }

    #[test]
    fn questions_are_asked_at_strokes_of_one_clock() {
        let mut jitter = Jitter(1);
        for now in [0, 1, 24_999, 1_234_567] {
            let next = jitter.next(500, At::from_micros(now));
            let due = now + u64::try_from(next.as_micros()).unwrap();
            assert_eq!(due % 25_000, 0);
            assert!((450..=575).contains(&next.as_millis()), "{next:?}");
        }
        let never = jitter.next(u64::MAX, At::from_micros(5));
        assert!(never > Duration::from_secs(1_000_000));
    }

    #[test]
    fn questions_are_spread_by_a_tenth() {
        let mut jitter = Jitter(1);
        let times: Vec<Duration> = (0..100).map(|_| jitter.near(500)).collect();
        let range = Duration::from_millis(450)..Duration::from_millis(550);
        assert!(times.iter().all(|time| range.contains(time)), "{times:?}");
        assert!(times.iter().max() > times.iter().min());
    }
}
