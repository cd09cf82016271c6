//! A prefix that everybody wants.

use std::collections::BTreeSet;

use headwater_placement::Settings;

use crate::world::{World, named, signed};

#[test]
fn a_prompt_that_many_wait_for_gets_a_second_copy() {
    let mut world = World::of(4, Settings::default());
    // A system prompt of 20,000 tokens, and short questions on it in conversations of their own.
    let question = |at: u32| named(1, 20_100 + 16 * at, &[1_250]);
    let mut workers = BTreeSet::new();
    for at in 0..200 {
        let (decision, _) = world.send(&signed(&question(at), u64::from(at)));
        workers.insert(decision.worker);
        // Too fast for one worker, or for two.
        world.ms += 10;
    }
    assert!(workers.len() > 2, "{workers:?}");
}
