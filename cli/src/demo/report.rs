//! The figures of each policy, as a table for people and as JSON.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// One answered turn.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// From 0.
    pub(super) number: usize,
    pub(super) ttft: Duration,
    pub(super) prompt_tokens: u32,
    pub(super) cached_tokens: u32,
}

/// Everything that was measured under one policy.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The name in the JSON output.
    pub(super) policy: &'static str,
    pub(super) turns: Vec<Turn>,
    pub(super) requests_per_worker: Vec<usize>,
}

impl Outcome {
    /// Cached over prompt tokens of all turns, 0 to 1.
    fn hit_rate(&self) -> f64 {
        hit_rate(self.turns.iter())
    }

    /// The same without first turns, whose document no engine can know yet.
    fn hit_rate_later_turns(&self) -> f64 {
        hit_rate(self.turns.iter().filter(|turn| turn.number > 0))
    }

    fn ttft_mean_ms(&self) -> f64 {
        let total: f64 = self.turns.iter().map(|turn| millis(turn.ttft)).sum();
        total / self.turns.len().max(1) as f64
    }

    /// The smallest time that 99 % of the turns do not exceed.
    fn ttft_p99_ms(&self) -> f64 {
        let mut times: Vec<Duration> = self.turns.iter().map(|turn| turn.ttft).collect();
        times.sort_unstable();
        let rank = (times.len() * 99).div_ceil(100).saturating_sub(1);
        times.get(rank).copied().map_or(0.0, millis)
    }
}

fn hit_rate<'a>(turns: impl Iterator<Item = &'a Turn>) -> f64 {
    let (cached, prompt) = turns.fold((0, 0), |(cached, prompt), turn| {
        (
            cached + u64::from(turn.cached_tokens),
            prompt + u64::from(turn.prompt_tokens),
        )
    });
    if prompt == 0 {
        0.0
    } else {
        cached as f64 / prompt as f64
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The machine-readable form, policies in the order in which they ran.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    #[serde(serialize_with = "by_name")]
    pub(super) policies: &'a [Outcome],
}

#[derive(Serialize)]
struct Figures<'a> {
    hit_rate: f64,
    hit_rate_later_turns: f64,
    ttft_mean_ms: f64,
    ttft_p99_ms: f64,
    requests_per_worker: &'a [usize],
}

fn by_name<S: Serializer>(outcomes: &&[Outcome], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        outcomes
            .iter()
            .map(|outcome| (outcome.policy, figures(outcome))),
    )
}

fn figures(outcome: &Outcome) -> Figures<'_> {
    Figures {
        hit_rate: rounded(outcome.hit_rate(), 4),
        hit_rate_later_turns: rounded(outcome.hit_rate_later_turns(), 4),
        ttft_mean_ms: rounded(outcome.ttft_mean_ms(), 1),
        ttft_p99_ms: rounded(outcome.ttft_p99_ms(), 1),
        requests_per_worker: &outcome.requests_per_worker,
    }
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

/// The table, at most 80 columns wide.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "                     hit rate            time to first token   requests\n\
         policy          all turns  turns 2-5      mean         p99     per worker\n",
    );
    for outcome in outcomes {
        let requests: Vec<String> = outcome
            .requests_per_worker
            .iter()
            .map(ToString::to_string)
            .collect();
        text += &format!(
            "{:<15} {:>8.1}%  {:>8.1}%  {:>6.0} ms  {:>7.0} ms     {}\n",
            outcome.policy,
            outcome.hit_rate() * 100.0,
            outcome.hit_rate_later_turns() * 100.0,
            outcome.ttft_mean_ms(),
            outcome.ttft_p99_ms(),
            requests.join(" "),
        );
    }
    text
}

/// What the table says, in a sentence: `ours` against `theirs`.
pub(super) fn summary(theirs: &Outcome, ours: &Outcome) -> String {
    let faster = theirs.ttft_mean_ms() / ours.ttft_mean_ms();
    format!(
        "On turns 2-5 Headwater's workers took {:.0}% of the prompt from their caches and\n\
         round robin's {:.0}%; the mean time to first token was {faster:.1} times shorter.",
        ours.hit_rate_later_turns() * 100.0,
        theirs.hit_rate_later_turns() * 100.0,
    )
}

/// What the figures are and are not.
pub(super) const REMARK: &str = "\
The HTTP, the router and the signatures are real. The engines are a model: a
block LRU cache, and sleep for the time that a prefill of what is missing would
take. Part of the difference is queueing: every miss keeps others waiting. For
real engines see tests/engine.";

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(policy: &'static str, turns: &[(usize, u64, u32, u32)]) -> Outcome {
        let turns = turns
            .iter()
            .map(|&(number, ms, prompt_tokens, cached_tokens)| Turn {
                number,
                ttft: Duration::from_millis(ms),
                prompt_tokens,
                cached_tokens,
            });
        Outcome {
            policy,
            turns: turns.collect(),
            requests_per_worker: vec![48, 120, 60, 12],
        }
    }

    #[test]
    fn figures_come_from_the_turns() {
        let measured = [outcome(
            "headwater",
            &[(0, 300, 1000, 0), (1, 100, 1000, 900)],
        )];
        let json = serde_json::to_string(&Report {
            policies: &measured,
        })
        .unwrap();
        let expected = concat!(
            r#"{"policies":{"headwater":{"hit_rate":0.45,"hit_rate_later_turns":0.9,"#,
            r#""ttft_mean_ms":200.0,"ttft_p99_ms":300.0,"requests_per_worker":[48,120,60,12]}}}"#,
        );
        assert_eq!(json, expected);
    }

    #[test]
    fn no_turns_are_no_division_by_zero() {
        let empty = outcome("headwater", &[]);
        assert_eq!(
            (empty.hit_rate(), empty.ttft_mean_ms(), empty.ttft_p99_ms()),
            (0.0, 0.0, 0.0)
        );
    }

    #[test]
    fn the_99th_percentile_is_a_measured_time() {
        let turns: Vec<_> = (1..=200).map(|ms| (0, ms, 1, 0)).collect();
        assert_eq!(outcome("headwater", &turns).ttft_p99_ms(), 198.0);
    }

    #[test]
    fn the_text_fits_a_terminal() {
        let outcomes = [
            outcome(
                "least_requests",
                &[(0, 9999, 1000, 0), (1, 9999, 1000, 1000)],
            ),
            outcome("headwater", &[(0, 300, 1000, 0), (1, 100, 1000, 900)]),
        ];
        let text = table(&outcomes) + &summary(&outcomes[0], &outcomes[1]) + "\n" + REMARK;
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
