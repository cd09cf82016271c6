//! Lines of one metric that speak of the same requests, and count once.
//!
//! Data-parallel ranks have requests of their own, which are summed. Ranks that compute the same
//! requests together may each write a line, too; and where requests have priorities, SGLang writes
//! how many there are of each beside how many there are.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::exposition::Sample;

/// The labels by which such lines differ (SGLang, `observability/metrics_collector.py` and
/// `managers/scheduler_metrics_mixin.py`).
const SAME: [&str; 4] = ["tp_rank", "pp_rank", "moe_ep_rank", "priority"];

/// The most of each row and of each group of requests.
#[derive(Default)]
pub(crate) struct Ranks(Vec<Group>);

struct Group {
    row: usize,
    /// Of all labels but those.
    of: u64,
    most: f64,
}

impl Ranks {
    /// Takes a value for a row if others may say the same.
    pub(crate) fn take(&mut self, row: usize, sample: &Sample<'_>, value: f64) -> bool {
        let tells_apart = |(name, _): (&str, &str)| SAME.contains(&name);
        if !sample.labels().any(tells_apart) {
            return false;
        }
        let mut hasher = DefaultHasher::new();
        for label in sample.labels().filter(|label| !tells_apart(*label)) {
            label.hash(&mut hasher);
        }
        let of = hasher.finish();
        let found = self.0.iter_mut().find(|g| (g.row, g.of) == (row, of));
        if let Some(group) = found {
            group.most = group.most.max(value);
        } else if self.0.len() < MOST_GROUPS {
            let most = value;
            self.0.push(Group { row, of, most });
        }
        true
    }

    /// Each row with what one group says of it.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (usize, f64)> {
        self.0.iter().map(|group| (group.row, group.most))
    }
}

/// More than any engine has ranks; a page of others would take long to look through.
const MOST_GROUPS: usize = 4_096;
