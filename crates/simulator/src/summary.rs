//! Policies against each other over many configurations, as geometric means.

use crate::policy::{Kind, PolicyName};
use crate::sweep::Cell;

/// How one policy did over all configurations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// Whose.
    pub policy: PolicyName,
    /// Mean time to the first token over that of the best single peer; geometric mean.
    pub mean: f64,
    /// The same of the 99th of a hundred.
    pub p99: f64,
    /// Mean time over that of the best peer of each configuration; geometric mean.
    pub mean_each: f64,
    /// The worst of those.
    pub mean_worst: f64,
    /// The 99th of a hundred over that of the best peer of each configuration; geometric mean.
    pub p99_each: f64,
    /// The worst of those.
    pub p99_worst: f64,
    /// Hit tokens over those with perfect knowledge, if that was run; geometric mean.
    pub hits: Option<f64>,
    /// The least of those.
    pub hits_worst: Option<f64>,
}

/// Policies over all configurations that every one of them ran.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// How many configurations.
    pub configurations: usize,
    /// The peer with the least mean time to the first token.
    pub best_peer: PolicyName,
    /// Each policy, the fastest first.
    pub lines: Vec<Line>,
}

/// Sums up; nothing if no peer was run.
#[must_use]
pub fn summarize(cells: &[Cell]) -> Option<Summary> {
    let groups = groups(cells);
    let policies: Vec<PolicyName> = PolicyName::ALL
        .into_iter()
        .filter(|name| groups.iter().all(|group| find(group, *name).is_some()))
        .collect();
    let peers: Vec<PolicyName> = policies
        .iter()
        .copied()
        .filter(|name| name.kind() == Kind::Peer)
        .collect();
    let score = |name: &PolicyName| {
        geometric(
            groups
                .iter()
                .filter_map(|group| find(group, *name))
                .map(mean),
        )
    };
    let best_peer = peers
        .iter()
        .copied()
        .min_by(|a, b| score(a).total_cmp(&score(b)))?;
    let mut lines: Vec<Line> = policies
        .iter()
        .map(|name| line(*name, best_peer, &peers, &groups))
        .collect();
    lines.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    Some(Summary {
        configurations: groups.len(),
        best_peer,
        lines,
    })
}

type Group<'c> = Vec<&'c Cell>;

/// Runs that differ in nothing but the policy.
fn groups(cells: &[Cell]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for cell in cells {
        let same = |other: &&Cell| {
            let (a, b) = (&cell.outcome, &other.outcome);
            cell.trace == other.trace
                && cell.load == other.load
                && (a.workers, a.cache_tokens, a.routers) == (b.workers, b.cache_tokens, b.routers)
        };
        match groups
            .iter_mut()
            .find(|group| group.first().is_some_and(same))
        {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

fn find<'c>(group: &Group<'c>, policy: PolicyName) -> Option<&'c Cell> {
    group
        .iter()
        .find(|cell| cell.outcome.policy == policy)
        .copied()
}

fn mean(cell: &Cell) -> f64 {
    cell.outcome.ttft_ms.mean.max(1e-9)
}

fn p99(cell: &Cell) -> f64 {
    cell.outcome.ttft_ms.percentile(99).max(1e-9)
}

fn line(policy: PolicyName, best: PolicyName, peers: &[PolicyName], groups: &[Group<'_>]) -> Line {
    let against = |value: fn(&Cell) -> f64, other: &dyn Fn(&Group<'_>) -> f64| -> Vec<f64> {
        let ratios = groups
            .iter()
            .filter_map(|group| Some(value(find(group, policy)?) / other(group)));
        ratios.collect()
    };
    let single = |value: fn(&Cell) -> f64| {
        move |group: &Group<'_>| find(group, best).map_or(f64::NAN, value)
    };
    let each = |value: fn(&Cell) -> f64| {
        move |group: &Group<'_>| {
            let found = peers
                .iter()
                .filter_map(|peer| find(group, *peer))
                .map(value);
            found.fold(f64::INFINITY, f64::min)
        }
    };
    let (means, p99s) = (against(mean, &each(mean)), against(p99, &each(p99)));
    let hits: Vec<f64> = groups
        .iter()
        .filter_map(|group| {
            let known = find(group, PolicyName::FullKnowledge)?
                .outcome
                .hit_tokens
                .max(1);
            Some(find(group, policy)?.outcome.hit_tokens.max(1) as f64 / known as f64)
        })
        .collect();
    let worst = |ratios: &[f64]| ratios.iter().copied().fold(0.0, f64::max);
    Line {
        policy,
        mean: geometric(against(mean, &single(mean)).into_iter()),
        p99: geometric(against(p99, &single(p99)).into_iter()),
        mean_each: geometric(means.iter().copied()),
        mean_worst: worst(&means),
        p99_each: geometric(p99s.iter().copied()),
        p99_worst: worst(&p99s),
        hits: (!hits.is_empty()).then(|| geometric(hits.iter().copied())),
        hits_worst: hits.iter().copied().reduce(f64::min),
    }
}

fn geometric(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| {
        (sum + value.ln(), count + 1)
    });
    if count == 0 {
        f64::NAN
    } else {
        (sum / f64::from(count)).exp()
    }
}
