//! A workload: who asks when, for what prefix, and how much must be said.

use std::ops::Range;

/// Names a whole prefix of whole blocks: equal nodes are equal prefixes.
///
/// A prompt's path is the nodes of its prefixes of 1, 2, 3, … blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

impl Node {
    /// Its place in a table of all nodes of a trace.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// When a request arrives.
///
/// Closed on purpose: the loop of the simulation handles each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// At this many milliseconds from the start.
    AtMs(f64),
    /// So many milliseconds after another request has ended: a user who reads and thinks.
    After {
        /// The place of the earlier request in the trace.
        request: u32,
        /// Milliseconds between its end and this one.
        think_ms: f64,
    },
}

/// One request of a trace.
///
/// Not `non_exhaustive`: readers and generators of traces build it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// When it arrives.
    pub arrival: Arrival,
    /// Tokens of the prompt, at least 1.
    pub input_tokens: u32,
    /// Tokens of the answer.
    pub output_tokens: u32,
    /// The conversation that it belongs to.
    pub session: u32,
    /// Which turn of the conversation it is, from 0.
    pub turn: u32,
}

/// Requests in order of arrival, with the prefixes that each prompt has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    block_tokens: u32,
    calls: Vec<Call>,
    /// Where each request's path and borders lie in the two tables below.
    spans: Vec<(Range<usize>, Range<usize>)>,
    paths: Vec<Node>,
    borders: Vec<u32>,
    nodes: u32,
}

impl Trace {
    /// An empty trace with blocks of so many tokens (at least 1).
    #[must_use]
    pub fn new(block_tokens: u32) -> Self {
        Self {
            block_tokens: block_tokens.max(1),
            ..Self::default()
        }
    }

    /// Adds a request. `path` names its prefixes of whole blocks, the shortest first; `borders`
    /// are block counts where a segment of its prompt ends, rising.
    pub fn push(
        &mut self,
        call: Call,
        path: impl IntoIterator<Item = Node>,
        borders: impl IntoIterator<Item = u32>,
    ) {
        let (path_start, border_start) = (self.paths.len(), self.borders.len());
        let whole = call.input_tokens / self.block_tokens;
        self.paths.extend(path.into_iter().take(whole as usize));
        let longest = u32::try_from(self.paths.len() - path_start).unwrap_or(u32::MAX);
        self.borders
            .extend(borders.into_iter().filter(|b| (1..=longest).contains(b)));
        for node in self.paths.iter().skip(path_start) {
            self.nodes = self.nodes.max(node.0.saturating_add(1));
        }
        let spans = (
            path_start..self.paths.len(),
            border_start..self.borders.len(),
        );
        self.spans.push(spans);
        self.calls.push(call);
    }

    /// The same with its first requests only. What waits for one that is left out is left out
    /// too, as requests wait for earlier ones.
    #[must_use]
    pub fn first(&self, requests: usize) -> Self {
        let mut first = Self::new(self.block_tokens);
        for (call, (path, borders)) in self.calls.iter().zip(&self.spans).take(requests) {
            first.push(
                call.clone(),
                self.paths.get(path.clone()).unwrap_or(&[]).iter().copied(),
                self.borders
                    .get(borders.clone())
                    .unwrap_or(&[])
                    .iter()
                    .copied(),
            );
        }
        first
    }

    /// Tokens in a block.
    #[must_use]
    pub fn block_tokens(&self) -> u32 {
        self.block_tokens
    }

    /// Every request.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// How many requests there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there is no request.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// One more than the largest node.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes as usize
    }

    /// The prefixes of a request's prompt, the shortest first; empty for an unknown request.
    #[must_use]
    pub fn path(&self, request: usize) -> &[Node] {
        let span = self.spans.get(request).map(|(path, _)| path.clone());
        self.paths.get(span.unwrap_or(0..0)).unwrap_or_default()
    }

    /// Where the segments of a request's prompt end, in blocks.
    #[must_use]
    pub fn borders(&self, request: usize) -> &[u32] {
        let span = self.spans.get(request).map(|(_, borders)| borders.clone());
        self.borders.get(span.unwrap_or(0..0)).unwrap_or_default()
    }

    /// Tokens of each prompt that an endless cache shared by all would have held when it arrived.
    ///
    /// Requests are taken in the order of the trace.
    #[must_use]
    pub fn ideal_hits(&self) -> Vec<u32> {
        let mut seen = vec![false; self.node_count()];
        let mut hits = Vec::with_capacity(self.len());
        for (request, call) in self.calls.iter().enumerate() {
            let path = self.path(request);
            let known = path.partition_point(|node| seen.get(node.index()) == Some(&true));
            hits.push(hit_tokens(known, self.block_tokens, call.input_tokens));
            for node in path.iter().skip(known) {
                if let Some(slot) = seen.get_mut(node.index()) {
                    *slot = true;
                }
            }
        }
        hits
    }

    /// Milliseconds from the first to the last arrival that has a fixed time.
    #[must_use]
    pub fn span_ms(&self) -> f64 {
        let times = self.calls.iter().filter_map(|call| match call.arrival {
            Arrival::AtMs(at) => Some(at),
            Arrival::After { .. } => None,
        });
        times.fold(0.0, f64::max)
    }

    /// Prompt tokens of all requests.
    #[must_use]
    pub fn input_tokens(&self) -> u64 {
        self.calls.iter().map(|c| u64::from(c.input_tokens)).sum()
    }
}

/// Tokens that a cache with so many blocks of a prompt saves: an engine always computes the last
/// token, so never all of them.
#[must_use]
pub fn hit_tokens(blocks: usize, block_tokens: u32, input_tokens: u32) -> u32 {
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    blocks
        .saturating_mul(block_tokens)
        .min(input_tokens.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(input_tokens: u32) -> Call {
        Call {
            arrival: Arrival::AtMs(0.0),
            input_tokens,
            output_tokens: 1,
            session: 0,
            turn: 0,
        }
    }

    #[test]
    fn only_whole_blocks_have_a_name() {
        let mut trace = Trace::new(16);
        trace.push(call(40), [0, 1, 2].map(Node), [0, 1, 2, 3]);
        assert_eq!(trace.path(0), [Node(0), Node(1)]);
        assert_eq!(trace.borders(0), [1, 2]);
        assert_eq!(trace.path(9), []);
    }

    #[test]
    fn an_endless_cache_holds_what_came_before_but_never_the_last_token() {
        let mut trace = Trace::new(16);
        trace.push(call(32), [0, 1].map(Node), []);
        trace.push(call(32), [0, 1].map(Node), []);
        trace.push(call(40), [0, 2].map(Node), []);
        assert_eq!(trace.ideal_hits(), [0, 31, 16]);
    }
}
