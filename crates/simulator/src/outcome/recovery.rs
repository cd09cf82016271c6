//! How a fleet takes an incident: how soon it hits again, and whether one worker is overrun.

use super::Outcome;

/// What followed an incident.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recovery {
    /// Share of prompt tokens cached in the minute before.
    pub hit_rate_before: f64,
    /// The least in any ten seconds of the minute after.
    pub hit_rate_worst: f64,
    /// Seconds until ten seconds together had 95 % of the rate before; none if never.
    pub seconds_to_95: Option<f64>,
    /// The longest time in the two minutes after in which one and the same worker had over 1.5
    /// times the mean and at least four requests more than it, in seconds.
    pub longest_overrun_s: f64,
}

/// Requests over the mean below which nobody is overrun.
const LEAST_EXCESS: f64 = 4.0;

/// What followed an incident at this time.
#[must_use]
pub fn recovery(outcome: &Outcome, at_s: f64) -> Recovery {
    let slice_s = (outcome.timeline.slice_ms / 1_000.0).max(1e-3);
    let place = |at_s: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
        let place = (at_s.max(0.0) / slice_s) as usize;
        place
    };
    let rate = |from_s: f64, to_s: f64| {
        let slices = outcome
            .timeline
            .hits
            .iter()
            .take(place(to_s))
            .skip(place(from_s));
        let (all, hit) = slices.fold((0, 0), |sum, slice| (sum.0 + slice.0, sum.1 + slice.1));
        (all > 0).then(|| hit as f64 / all as f64)
    };
    let before = rate(at_s - 60.0, at_s).unwrap_or(0.0);
    let last_s = outcome.timeline.hits.len() as f64 * slice_s;
    let windows = (0..)
        .map(|step| f64::from(step))
        .take_while(|step| at_s + step + 10.0 <= last_s);
    let later: Vec<(f64, f64)> = windows
        .filter_map(|step| Some((step, rate(at_s + step, at_s + step + 10.0)?)))
        .collect();
    let worst = later
        .iter()
        .take_while(|(step, _)| *step <= 60.0)
        .map(|(_, rate)| *rate)
        .fold(before, f64::min);
    // The first moment from which it has been reached and not lost by the incident itself.
    let dip = later.iter().position(|(_, rate)| *rate < 0.95 * before);
    let seconds_to_95 = match dip {
        None => Some(0.0),
        Some(dip) => later
            .iter()
            .skip(dip)
            .find(|(_, rate)| *rate >= 0.95 * before)
            .map(|(step, _)| step + 10.0),
    };
    let longest_overrun_s =
        longest_overrun(outcome, place(at_s), place(at_s + 120.0)) as f64 * slice_s;
    Recovery {
        hit_rate_before: before,
        hit_rate_worst: worst,
        seconds_to_95,
        longest_overrun_s,
    }
}

/// Slices in a row in which one worker has far more than the mean.
fn longest_overrun(outcome: &Outcome, from: usize, to: usize) -> usize {
    let rows = &outcome.timeline.load;
    let mean = |slice: usize| {
        let sum: f64 = rows.iter().filter_map(|row| row.get(slice)).sum();
        sum / rows.len().max(1) as f64
    };
    let means: Vec<f64> = (from..to).map(mean).collect();
    let overrun = |row: &Vec<f64>| {
        let mut longest = 0;
        let mut now = 0;
        for (load, mean) in row.iter().skip(from).zip(&means) {
            now = if *load > 1.5 * mean && load - mean >= LEAST_EXCESS {
                now + 1
            } else {
                0
            };
            longest = longest.max(now);
        }
        longest
    };
    rows.iter().map(overrun).max().unwrap_or(0)
}
