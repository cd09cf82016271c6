//! What engines call their load. Names drift every few months: a new one is one more row.

use crate::exposition::{Sample, samples_called};
use crate::ranks::Ranks;

/// What the router wants to know of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Running,
    Waiting,
    KvUse,
    PrefixQueries,
    PrefixHits,
    PromptTokens,
    Started,
}

impl Signal {
    pub(crate) const ALL: [Self; 7] = [
        Self::Running,
        Self::Waiting,
        Self::KvUse,
        Self::PrefixQueries,
        Self::PrefixHits,
        Self::PromptTokens,
        Self::Started,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::KvUse => "kv_use",
            Self::PrefixQueries => "prefix_queries",
            Self::PrefixHits => "prefix_hits",
            Self::PromptTokens => "prompt_tokens",
            Self::Started => "started",
        }
    }
}

/// Who says what how, the current name before older ones. `:` and `_` count as the same, and a
/// counter may or may not end in `_total`.
const NAMES: [(Signal, &str); 24] = [
    // vLLM
    (Signal::Running, "vllm:num_requests_running"),
    (Signal::Waiting, "vllm:num_requests_waiting"),
    (Signal::KvUse, "vllm:kv_cache_usage_perc"),
    (Signal::KvUse, "vllm:gpu_cache_usage_perc"),
    (Signal::PrefixQueries, "vllm:prefix_cache_queries"),
    (Signal::PrefixQueries, "vllm:gpu_prefix_cache_queries"),
    (Signal::PrefixHits, "vllm:prefix_cache_hits"),
    (Signal::PrefixHits, "vllm:gpu_prefix_cache_hits"),
    (Signal::PromptTokens, "vllm:prompt_tokens"),
    // SGLang
    (Signal::Running, "sglang:num_running_reqs"),
    (Signal::Waiting, "sglang:num_queue_reqs"),
    (Signal::KvUse, "sglang:token_usage"),
    (Signal::PromptTokens, "sglang:prompt_tokens"),
    // TensorRT-LLM
    (Signal::Running, "trtllm_num_requests_running"),
    (Signal::Waiting, "trtllm_num_requests_waiting"),
    (Signal::KvUse, "trtllm_kv_cache_utilization"),
    // TGI
    (Signal::Running, "tgi_batch_current_size"),
    (Signal::Waiting, "tgi_queue_size"),
    // llama.cpp
    (Signal::Running, "llamacpp:requests_processing"),
    (Signal::Waiting, "llamacpp:requests_deferred"),
    (Signal::KvUse, "llamacpp:kv_cache_usage_ratio"),
    (Signal::PromptTokens, "llamacpp:prompt_tokens"),
    // Whatever has Prometheus' own process metrics.
    (Signal::Started, "process_start_time_seconds"),
    (Signal::Started, "process_start_time"),
];

/// Where the size of the cache stands: labels of a metric whose value is always 1.
const CACHE_SIZES: [(&str, &str, &str); 2] = [
    ("vllm:cache_config_info", "block_size", "num_gpu_blocks"),
    ("sglang:cache_config_info", "page_size", "num_pages"),
];

/// One scrape. What is absent is unknown, never zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    rows: [Option<f64>; NAMES.len()],
    /// How many samples made each: ranks write one each.
    samples: [u16; NAMES.len()],
    /// When the process began, in whole seconds since 1970.
    pub(crate) started: Option<u64>,
    cache_tokens: Option<u64>,
}

impl Reading {
    /// Reads an engine's metrics. Data-parallel ranks write one line each: counts are summed,
    /// of shares the highest counts. Of lines about the same requests one counts.
    pub(crate) fn of(text: &str) -> Self {
        let mut reading = Self::default();
        // As a page spells a name first: two spellings of one name are not two ranks.
        let mut spelled = [None; NAMES.len()];
        let (mut ranks, mut sizes) = (Ranks::default(), Ranks::default());
        for sample in samples_called(text, is_known) {
            if let Some(tokens) = cache_size(&sample)
                && !sizes.take(0, &sample, tokens as f64)
            {
                reading.add_cache_size(tokens);
            }
            if !sample.value.is_finite() || sample.value < 0.0 {
                continue;
            }
            let row = NAMES
                .iter()
                .position(|(_, name)| is_called(sample.name, name));
            let Some((row, spelled)) = row.and_then(|row| Some((row, spelled.get_mut(row)?)))
            else {
                continue;
            };
            let is_first = *spelled.get_or_insert(sample.name) == sample.name;
            if is_first && !ranks.take(row, &sample, sample.value) {
                reading.add(row, sample.value);
            }
        }
        ranks
            .groups()
            .for_each(|(row, most)| reading.add(row, most));
        let sizes = sizes.groups().filter_map(|(_, tokens)| whole(tokens));
        sizes.for_each(|tokens| reading.add_cache_size(tokens));
        reading.started = reading.value(Signal::Started).and_then(whole);
        reading
    }

    fn add(&mut self, row: usize, value: f64) {
        let (Some(slot), Some((signal, _))) = (self.rows.get_mut(row), NAMES.get(row)) else {
            return;
        };
        if let Some(samples) = self.samples.get_mut(row) {
            *samples = samples.saturating_add(1);
        }
        let so_far = slot.unwrap_or(0.0);
        *slot = Some(match signal {
            Signal::KvUse | Signal::Started => value.max(so_far),
            Signal::Running | Signal::Waiting => value + so_far,
            Signal::PrefixQueries | Signal::PrefixHits | Signal::PromptTokens => value + so_far,
        });
    }

    fn add_cache_size(&mut self, tokens: u64) {
        let so_far = self.cache_tokens.unwrap_or(0);
        self.cache_tokens = Some(so_far.saturating_add(tokens));
    }

    /// A signal, under the first of its names that is there.
    pub(crate) fn value(&self, signal: Signal) -> Option<f64> {
        let rows = NAMES.iter().zip(&self.rows);
        rows.filter(|((of, _), _)| *of == signal)
            .find_map(|(_, value)| *value)
    }

    /// A signal that counts requests.
    pub(crate) fn count(&self, signal: Signal) -> Option<u32> {
        self.value(signal)
            .and_then(whole)
            .and_then(|n| u32::try_from(n).ok())
    }

    /// KV use, 0..=1. Whatever lies outside was not a share, and is unknown, but for what rounding
    /// puts above a whole.
    pub(crate) fn kv_use(&self) -> Option<f64> {
        self.value(Signal::KvUse)
            .filter(|share| (0.0..=1.01).contains(share))
            .map(|share| share.min(1.0))
    }

    /// Tokens that the prefix cache holds.
    pub(crate) fn cache_tokens(&self) -> Option<u64> {
        self.cache_tokens.filter(|tokens| *tokens > 0)
    }

    /// Prompt tokens computed since the process began: those that were looked for in its cache
    /// and not found there, or else those that came less those that were found.
    pub(crate) fn computed_tokens(&self) -> Option<u64> {
        let hits = self.value(Signal::PrefixHits)?;
        let asked = self.value(Signal::PrefixQueries);
        let asked = asked.or_else(|| self.value(Signal::PromptTokens))?;
        whole(asked - hits)
    }

    /// Whether a counter went backwards, which only a new process does; a rank that is missing
    /// from a page is none.
    pub(crate) fn restarted_since(&self, before: &Self) -> bool {
        let counts =
            |signal: &Signal| matches!(signal, Signal::PromptTokens | Signal::PrefixQueries);
        let rows = NAMES.iter().zip(self.rows.iter().zip(&before.rows));
        let samples = self.samples.iter().zip(&before.samples);
        rows.zip(samples)
            .any(|(((signal, _), values), (now, then))| {
                counts(signal)
                    && now == then
                    && matches!(values, (Some(now), Some(then)) if now < then)
            })
    }

    /// Which signals placement does without, for people who wonder why a watermark does nothing.
    pub(crate) fn missing(&self) -> impl Iterator<Item = Signal> {
        let wanted = [Signal::Running, Signal::Waiting, Signal::KvUse];
        wanted.into_iter().filter(|signal| match signal {
            Signal::KvUse => self.kv_use().is_none(),
            _ => self.count(*signal).is_none(),
        })
    }
}

/// Tokens that a cache holds, if the sample says so.
fn cache_size(sample: &Sample<'_>) -> Option<u64> {
    let mut kinds = CACHE_SIZES.iter();
    let (_, block, blocks) = kinds.find(|(name, _, _)| is_called(sample.name, name))?;
    let number = |key| sample.label(key)?.parse::<u64>().ok();
    Some(number(block)?.saturating_mul(number(blocks)?))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked against the range just before"
)]
fn whole(value: f64) -> Option<u64> {
    (0.0..=9e15).contains(&value).then(|| value.round() as u64)
}

/// Whether a name is one of those above.
fn is_known(found: &str) -> bool {
    // Nine in ten lines of a page are of no such length, or of a histogram.
    if LENGTHS >> found.len().min(63) & 1 == 0 || found.ends_with("_bucket") {
        return false;
    }
    let sizes = CACHE_SIZES.iter().map(|(name, _, _)| *name);
    let mut names = NAMES.iter().map(|(_, name)| *name).chain(sizes);
    names.any(|name| is_called(found, name))
}

/// A bit for each length that one of those names has, with and without `_total`.
const LENGTHS: u64 = {
    let (mut bits, mut at) = (0, 0);
    while at < NAMES.len() {
        bits |= lengths(NAMES[at].1);
        at += 1;
    }
    bits | lengths(CACHE_SIZES[0].0) | lengths(CACHE_SIZES[1].0)
};

const fn lengths(name: &str) -> u64 {
    1 << name.len() | 1 << (name.len() + "_total".len())
}

fn is_called(found: &str, name: &str) -> bool {
    let found = found.strip_suffix("_total").unwrap_or(found);
    let plain = |b: u8| if b == b':' { b'_' } else { b };
    found.len() == name.len() && found.bytes().map(plain).eq(name.bytes().map(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, running: Option<u32>, waiting: Option<u32>, kv_use: Option<f64>) {
        let reading = Reading::of(text);
        let found = (
            reading.count(Signal::Running),
            reading.count(Signal::Waiting),
            reading.kv_use(),
        );
        assert_eq!(found, (running, waiting, kv_use), "{text}");
    }

    #[test]
    fn each_engine_is_understood() {
        check(
            "vllm:num_requests_running{engine=\"0\",model_name=\"tiny\"} 5.0\nvllm:num_requests_waiting{engine=\"0\",model_name=\"tiny\"} 4.0\nvllm:num_requests_waiting_by_reason{engine=\"0\",reason=\"capacity\"} 4.0\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.88\n",
            Some(5),
            Some(4),
            Some(0.88),
        );
        check("vllm:gpu_cache_usage_perc 0.5", None, None, Some(0.5));
        check(
            "sglang:num_running_reqs 1\nsglang_num_queue_reqs 2\nsglang:token_usage 0.25",
            Some(1),
            Some(2),
            Some(0.25),
        );
        check(
            "llamacpp:requests_processing 3\nllamacpp:requests_deferred 0",
            Some(3),
            Some(0),
            None,
        );
        check(
            "tgi_batch_current_size 7\ntgi_queue_size 8",
            Some(7),
            Some(8),
            None,
        );
        check(
            "trtllm_num_requests_running 1\ntrtllm_kv_cache_utilization 1",
            Some(1),
            None,
            Some(1.0),
        );
    }

    #[test]
    fn ranks_are_summed_and_the_fullest_counts() {
        check(
            "vllm:num_requests_running{engine=\"0\"} 2\nvllm:num_requests_running{engine=\"1\"} 3\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.9",
            Some(5),
            None,
            Some(0.9),
        );
    }

    #[test]
    fn ranks_that_compute_the_same_requests_count_once() {
        let running = |labels: &[&str]| -> String {
            let line = |labels: &&str| format!("sglang:num_running_reqs{{{labels}}} 5\n");
            labels.iter().map(line).collect()
        };
        let ranks = ["tp_rank=\"0\",pp_rank=\"0\"", "tp_rank=\"1\",pp_rank=\"0\""];
        check(&running(&ranks), Some(5), None, None);
        let stages = ["tp_rank=\"0\",pp_rank=\"0\"", "tp_rank=\"0\",pp_rank=\"1\""];
        check(&running(&stages), Some(5), None, None);
        // With attention in data-parallel ranks each has a tensor rank of its own.
        let data = ["dp_rank=\"0\",tp_rank=\"0\"", "dp_rank=\"1\",tp_rank=\"4\""];
        check(&running(&data), Some(10), None, None);
        check(
            "sglang:num_queue_reqs{priority=\"\"} 7\nsglang:num_queue_reqs{priority=\"0\"} 4\nsglang:num_queue_reqs{priority=\"9\"} 3\n",
            None,
            Some(7),
            None,
        );
        let size = |rank| {
            format!(
                "sglang:cache_config_info{{page_size=\"1\",num_pages=\"900\",tp_rank=\"{rank}\"}} 1\n"
            )
        };
        let sizes = Reading::of(&(size(0) + &size(1))).cache_tokens();
        assert_eq!(sizes, Some(900));
    }

    #[test]
    fn what_is_absent_or_senseless_is_unknown() {
        check("", None, None, None);
        check(
            "vllm:num_requests_running NaN\nvllm:num_requests_waiting -1\nvllm:kv_cache_usage_perc 37",
            None,
            None,
            None,
        );
        check("vllm:kv_cache_usage_perc 1.0000001", None, None, Some(1.0));
        let unusable = "vllm:num_requests_running 1e20\nvllm:num_requests_waiting 5e9\nvllm:kv_cache_usage_perc 97";
        assert_eq!(Reading::of(unusable).missing().count(), 3);
        let missing: Vec<&str> = Reading::of("vllm:num_requests_running 0")
            .missing()
            .map(Signal::as_str)
            .collect();
        assert_eq!(missing, ["waiting", "kv_use"]);
    }

    #[test]
    fn a_new_name_goes_before_an_old_one() {
        check(
            "vllm:gpu_cache_usage_perc 0.9\nvllm:kv_cache_usage_perc 0.1",
            None,
            None,
            Some(0.1),
        );
    }

    #[test]
    fn a_process_has_a_start_and_its_counters_go_up() {
        let at = |text| Reading::of(text);
        assert_eq!(
            at("process_start_time_seconds 1.76446799963e+09").started,
            Some(1_764_468_000)
        );
        let (few, many) = (at("vllm:prompt_tokens_total 5"), at("vllm:prompt_tokens 9"));
        // One rank is missing; and one name in two spellings is one rank.
        let ranks = at(
            "vllm:prompt_tokens_total{engine=\"0\"} 5\nvllm:prompt_tokens_total{engine=\"1\"} 5",
        );
        assert!(!few.restarted_since(&ranks));
        let twice = at("sglang:prompt_tokens 5\nsglang_prompt_tokens_total 5");
        assert_eq!(twice.value(Signal::PromptTokens), Some(5.0));
        assert!(few.restarted_since(&many));
        assert!(!many.restarted_since(&few));
        assert!(!at("").restarted_since(&many));
    }

    #[test]
    fn the_size_of_the_cache_is_in_labels() {
        let text =
            "vllm:cache_config_info{block_size=\"32\",engine=\"0\",num_gpu_blocks=\"512\"} 1.0";
        assert_eq!(Reading::of(text).cache_tokens(), Some(16_384));
        assert_eq!(
            Reading::of(&text.replace("512", "None")).cache_tokens(),
            None
        );
    }

    #[test]
    fn what_was_looked_for_and_not_found_was_computed() {
        let check = |text: &str, expected| {
            assert_eq!(Reading::of(text).computed_tokens(), expected, "{text}");
        };
        let hits = "vllm:prefix_cache_hits_total 300\n";
        check(
            &format!("{hits}vllm:prefix_cache_queries_total 1000"),
            Some(700),
        );
        check(&format!("{hits}vllm:prompt_tokens_total 900"), Some(600));
        // Of a cache that says nothing, nothing is known.
        check("vllm:prompt_tokens_total 900", None);
        check(&format!("{hits}vllm:prompt_tokens_total 200"), None);
    }
}
