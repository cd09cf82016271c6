//! What must hold for every prompt, checked on made-up conversations.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;

use headwater::signature::{BlockSize, PrefixHash};
use headwater::text::{Profile, clean};
use headwater::{
    BytesTokenizer, PromptDraft, Role, Segment, SignOptions, SignedPrompt, Volatility,
};
use proptest::prelude::*;

/// A conversation: static and semi-static text, then turns.
#[derive(Clone, Debug)]
struct Talk {
    instructions: String,
    tenant: Option<String>,
    turns: Vec<String>,
}

impl Talk {
    /// The prompt of the turn that `turns` ends with.
    fn sign(&self, turns: usize, block: u32) -> SignedPrompt {
        let mut draft = PromptDraft::new();
        draft
            .push(
                Volatility::Static,
                Segment::system(self.instructions.as_str()),
            )
            .unwrap();
        if let Some(tenant) = &self.tenant {
            draft
                .push(Volatility::SemiStatic, Segment::system(tenant.as_str()))
                .unwrap();
        }
        for (index, turn) in self.turns.iter().take(turns).enumerate() {
            let role = if index % 2 == 0 {
                Role::User
            } else {
                Role::Assistant
            };
            draft
                .push(Volatility::Dynamic, Segment::new(turn.as_str()).role(role))
                .unwrap();
        }
        let block = BlockSize::new(block).unwrap();
        draft
            .build()
            .unwrap()
            .sign(
                &BytesTokenizer,
                &SignOptions {
                    block,
                    ..Default::default()
                },
            )
            .unwrap()
    }
}

fn rungs(signed: &SignedPrompt) -> BTreeMap<u32, PrefixHash> {
    signed
        .signature()
        .rungs()
        .iter()
        .map(|rung| (rung.blocks, rung.hash))
        .collect()
}

prop_compose! {
    fn talk()(
        instructions in "[a-zé ]{0,300}",
        tenant in prop::option::of("[a-z \n]{0,100}"),
        turns in prop::collection::vec("[a-z🙂 \r\n]{0,120}", 1..9),
    ) -> Talk {
        Talk { instructions, tenant, turns }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn an_appended_turn_keeps_the_earlier_rungs(talk in talk(), block in 1_u32..20) {
        let shorter = rungs(&talk.sign(talk.turns.len() - 1, block));
        let longer = rungs(&talk.sign(talk.turns.len(), block));
        for (blocks, hash) in &longer {
            if let Some(before) = shorter.get(blocks) {
                prop_assert_eq!(hash, before, "at {} blocks", blocks);
            }
        }
    }

    #[test]
    fn the_next_turn_looks_for_what_this_one_named(talk in talk(), block in 1_u32..20) {
        let now = talk.sign(talk.turns.len() - 1, block);
        let next = rungs(&talk.sign(talk.turns.len(), block));
        let Some((blocks, hash)) = rungs(&now).into_iter().next_back() else { return Ok(()) };
        prop_assert_eq!(next.get(&blocks), Some(&hash));
    }

    #[test]
    fn a_shared_static_part_shares_its_rung(a in talk(), b in talk(), block in 1_u32..20) {
        let b = Talk { instructions: a.instructions.clone(), ..b };
        let (first, second) = (a.sign(1, block), b.sign(1, block));
        let instructions = clean(&a.instructions, Profile::Strict).unwrap().text;
        let static_end = "<|im_start|>system\n".len() + instructions.len();
        let blocks = u32::try_from(static_end / 4).unwrap() / block;
        prop_assume!(blocks > 0);
        let (first, second) = (rungs(&first), rungs(&second));
        prop_assert!(first.contains_key(&blocks));
        prop_assert_eq!(first.get(&blocks), second.get(&blocks));
    }

    #[test]
    fn rungs_are_whole_blocks_before_the_last_token(talk in talk(), block in 1_u32..20) {
        let signed = talk.sign(talk.turns.len(), block);
        let rungs = signed.signature().rungs();
        prop_assert!(rungs.len() <= 12);
        prop_assert!(rungs.is_sorted_by(|a, b| a.blocks < b.blocks));
        prop_assert!(rungs.iter().all(|rung| rung.blocks * block < signed.tokens()));
        prop_assert!(signed.headers().iter().all(|(_, value)| value.len() <= 320));
    }

    #[test]
    fn signing_twice_gives_the_same(talk in talk()) {
        let turns = talk.turns.len();
        let (one, two) = (talk.sign(turns, 16), talk.sign(turns, 16));
        prop_assert_eq!(one.text(), two.text());
        prop_assert_eq!(one.headers(), two.headers());
    }

    #[test]
    fn later_turns_of_a_conversation_share_one_affinity_key(talk in talk()) {
        let keys: Vec<_> = (3..=talk.turns.len()).step_by(2).map(|turns| talk.sign(turns, 16).affinity()).collect();
        prop_assert!(keys.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
