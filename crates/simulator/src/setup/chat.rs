//! Users who wait for an answer, read it, and ask on: the load follows the fleet's speed.

use super::{Arrival, Call, Dice, Fresh, Node, Setup, Trace, Zipf};
use crate::profile::Profile;

/// 32 replicas, 1,000 users at a time, conversations of five turns on a context of 4,096 tokens;
/// a prompt whose context is not cached takes 400 ms to prefill, one whose context is takes 12.
///
/// What was not published is set here: pauses of five seconds in the mean between an answer and
/// the next question, turns that add 16 tokens, answers of 64 tokens at 20 ms a step, a cache of
/// 250,000 tokens a replica (some 60 contexts), and users who begin spread over the first pause.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers change some and take the rest"
)]
pub struct Users1000 {
    /// Users at a time.
    pub users: usize,
    /// Conversations that each of them holds, one after the other.
    pub conversations: usize,
    /// Milliseconds between an answer and the next question, in the mean.
    pub think_ms: f64,
    /// What pauses are drawn from.
    pub seed: u64,
}

impl Default for Users1000 {
    fn default() -> Self {
        Self {
            users: 1_000,
            conversations: 6,
            think_ms: 5_000.0,
            seed: 1,
        }
    }
}

impl Users1000 {
    /// The workload.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let shape = Shape {
            block_tokens: 16,
            turns: 5,
            turn_blocks: 1,
            output_tokens: 64,
        };
        let mut talk = Talk::new(self.seed, self.think_ms, shape);
        for user in 0..self.users {
            talk.user(self.conversations, user, |_, fresh| {
                (0, fresh.take(255).collect())
            });
        }
        Setup {
            trace: talk.trace(),
            workers: 32,
            profile: profile(USERS_1000),
        }
    }
}

/// 100 workers and contexts of 100,000 tokens, most of them shared: documents that many ask about.
///
/// What was not published is set here: 420 documents of 94,208 tokens, asked for by Zipf's law
/// (0.7); conversations of four turns, each adding 2,048 tokens; answers of 200 tokens; 400 users
/// with pauses of thirty seconds; a cache of 2,000,000 tokens a worker, which is 20 contexts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers change some and take the rest"
)]
pub struct Fleet100 {
    /// Users at a time.
    pub users: usize,
    /// Conversations that each of them holds, one after the other.
    pub conversations: usize,
    /// Milliseconds between an answer and the next question, in the mean.
    pub think_ms: f64,
    /// Documents that are asked about.
    pub documents: usize,
    /// Steepness of Zipf's law.
    pub zipf: f64,
    /// What everything is drawn from.
    pub seed: u64,
}

impl Default for Fleet100 {
    fn default() -> Self {
        Self {
            users: 400,
            conversations: 5,
            think_ms: 30_000.0,
            documents: 420,
            zipf: 0.7,
            seed: 1,
        }
    }
}

impl Fleet100 {
    /// The workload.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let shape = Shape {
            block_tokens: 512,
            turns: 4,
            turn_blocks: 4,
            output_tokens: 200,
        };
        let mut talk = Talk::new(self.seed, self.think_ms, shape);
        let documents: Vec<Vec<Node>> = (0..self.documents)
            .map(|_| talk.fresh.take(184).collect())
            .collect();
        let zipf = Zipf::new(self.documents, self.zipf);
        for user in 0..self.users {
            talk.user(self.conversations, user, |dice, _| {
                let document = documents.get(zipf.draw(dice)).cloned().unwrap_or_default();
                (document.len(), document)
            });
        }
        Setup {
            trace: talk.trace(),
            workers: 100,
            profile: profile(FLEET_100),
        }
    }
}

const USERS_1000: &str = include_str!("../../profiles/users-1000.yaml");
const FLEET_100: &str = include_str!("../../profiles/fleet-100.yaml");

fn profile(text: &str) -> Profile {
    // Both are constants of this crate; a test reads them.
    Profile::from_yaml(text)
        .or_else(|_| Profile::from_yaml(FLEET_100))
        .unwrap_or_else(|_| Profile::flat())
}

#[derive(Clone, Copy)]
struct Shape {
    block_tokens: u32,
    turns: u32,
    turn_blocks: u32,
    output_tokens: u32,
}

/// One request before all requests are put in order.
struct Turn {
    /// Milliseconds from the start if nothing had to be waited for.
    at_ms: f64,
    think_ms: Option<f64>,
    after: Option<usize>,
    call: Call,
    path: Vec<Node>,
    borders: Vec<u32>,
}

struct Talk {
    dice: Dice,
    fresh: Fresh,
    think_ms: f64,
    shape: Shape,
    turns: Vec<Turn>,
    sessions: u32,
}

impl Talk {
    fn new(seed: u64, think_ms: f64, shape: Shape) -> Self {
        let (dice, fresh, turns) = (Dice::new(seed), Fresh::default(), Vec::new());
        Self {
            dice,
            fresh,
            think_ms,
            shape,
            turns,
            sessions: 0,
        }
    }

    /// One user's conversations; `context` gives the blocks that one begins with, and how many of
    /// them others may have too.
    fn user(
        &mut self,
        conversations: usize,
        _user: usize,
        context: impl Fn(&mut Dice, &mut Fresh) -> (usize, Vec<Node>),
    ) {
        let shape = self.shape;
        // Where in a conversation users are when the clock starts is spread out.
        let mut at_ms = self.dice.share() * self.think_ms * f64::from(shape.turns);
        let mut after = None;
        for _ in 0..conversations {
            let (shared, mut path) = context(&mut self.dice, &mut self.fresh);
            let first = u32::try_from(path.len()).unwrap_or(u32::MAX);
            let mut borders: Vec<u32> = u32::try_from(shared)
                .into_iter()
                .filter(|s| *s > 0)
                .collect();
            for turn in 0..shape.turns {
                path.extend(self.fresh.take(shape.turn_blocks));
                let blocks = first + (turn + 1) * shape.turn_blocks;
                borders.push(blocks);
                let think_ms = after.map(|_| self.dice.wait(self.think_ms));
                at_ms += think_ms.unwrap_or(0.0);
                let call = Call {
                    arrival: Arrival::AtMs(at_ms),
                    input_tokens: blocks * shape.block_tokens,
                    output_tokens: shape.output_tokens,
                    session: self.sessions,
                    turn,
                };
                let (path, borders) = (path.clone(), borders.clone());
                self.turns.push(Turn {
                    at_ms,
                    think_ms,
                    after,
                    call,
                    path,
                    borders,
                });
                after = Some(self.turns.len() - 1);
            }
            self.sessions += 1;
        }
    }

    fn trace(mut self) -> Trace {
        let mut order: Vec<usize> = (0..self.turns.len()).collect();
        let at = |turn: &usize| self.turns.get(*turn).map_or(0.0, |t| t.at_ms);
        order.sort_by(|a, b| at(a).total_cmp(&at(b)));
        let mut places = vec![0_u32; order.len()];
        for (place, turn) in (0..).zip(&order) {
            if let Some(slot) = places.get_mut(*turn) {
                *slot = place;
            }
        }
        let mut trace = Trace::new(self.shape.block_tokens);
        for turn in order {
            let Some(turn) = self.turns.get_mut(turn) else {
                continue;
            };
            let earlier = turn.after.and_then(|after| places.get(after).copied());
            if let (Some(request), Some(think_ms)) = (earlier, turn.think_ms) {
                turn.call.arrival = Arrival::After { request, think_ms };
            }
            trace.push(
                turn.call.clone(),
                turn.path.drain(..),
                turn.borders.drain(..),
            );
        }
        trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_asks_after_the_answer() {
        let setup = Users1000 {
            users: 3,
            conversations: 2,
            ..Users1000::default()
        }
        .setup();
        assert_eq!((setup.trace.len(), setup.workers), (30, 32));
        let first = |c: &Call| matches!(c.arrival, Arrival::AtMs(_));
        assert_eq!(setup.trace.calls().iter().filter(|c| first(c)).count(), 3);
        for (place, call) in setup.trace.calls().iter().enumerate() {
            if let Arrival::After { request, .. } = call.arrival {
                assert!((request as usize) < place);
            }
            assert_eq!(call.input_tokens, 4_096 + call.turn * 16);
        }
        assert_eq!(setup.profile.prefill_ms(4_096, 0).round(), 400.0);
        assert_eq!(setup.profile.prefill_ms(4_112, 4_096).round(), 12.0);
    }

    #[test]
    fn contexts_of_a_hundred_thousand_tokens_are_shared() {
        let setup = Fleet100 {
            users: 20,
            documents: 2,
            ..Fleet100::default()
        }
        .setup();
        assert_eq!(setup.profile.name, "fleet-100");
        let calls = setup.trace.calls();
        assert!(
            calls
                .iter()
                .all(|c| (95_000..=103_000).contains(&c.input_tokens))
        );
        let hits: u64 = setup
            .trace
            .ideal_hits()
            .iter()
            .map(|hit| u64::from(*hit))
            .sum();
        assert!(hits as f64 > 0.95 * setup.trace.input_tokens() as f64);
    }
}
