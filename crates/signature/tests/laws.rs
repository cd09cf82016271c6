//! What names promise, as laws over arbitrary prompts and schemes.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use headwater_signature::{AffinityKey, BlockSize, Chain, PrefixHash, RouteTag, Scheme};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_longer_prompt_keeps_the_hashes_of_the_shorter(
        prompt in vec(any::<u32>(), 0..200),
        more in vec(any::<u32>(), 0..50),
        block in 1..20_u32,
    ) {
        let short = hashes(block, None, &prompt);
        let long = hashes(block, None, &[prompt, more].concat());
        prop_assert!(long.starts_with(&short));
    }

    #[test]
    fn one_changed_token_changes_every_later_hash_and_none_before(
        prompt in vec(any::<u32>(), 1..200),
        place in any::<Index>(),
        change in 1..=u32::MAX,
        block in 1..20_u32,
    ) {
        let at = place.index(prompt.len());
        let mut changed = prompt.clone();
        changed[at] ^= change;
        let before = hashes(block, None, &prompt);
        let after = hashes(block, None, &changed);
        for (index, (one, other)) in before.iter().zip(&after).enumerate() {
            prop_assert_eq!(one != other, index >= at / block as usize, "hash {}", index);
        }
    }

    #[test]
    fn there_is_one_hash_for_each_whole_block(prompt in vec(any::<u32>(), 0..200), block in 1..20_u32) {
        prop_assert_eq!(hashes(block, None, &prompt).len(), prompt.len() / block as usize);
    }

    #[test]
    fn in_pieces_or_at_once_is_the_same(
        pieces in vec(vec(any::<u32>(), 0..40), 0..8),
        block in 1..20_u32,
    ) {
        let mut chain = scheme(block, None).seed().chain();
        for piece in &pieces {
            chain.extend(piece);
        }
        let whole = pieces.concat();
        prop_assert_eq!(chain.tokens(), whole.len());
        prop_assert_eq!(chain.hashes(), hashes(block, None, &whole));
    }

    #[test]
    fn a_fork_leaves_its_origin_alone(prompt in vec(any::<u32>(), 0..60), more in vec(any::<u32>(), 1..60)) {
        let mut origin = scheme(4, None).seed().chain();
        origin.extend(&prompt);
        let before: Vec<PrefixHash> = origin.hashes().to_vec();
        let mut fork: Chain = origin.clone();
        fork.extend(&more);
        prop_assert_eq!(origin.hashes(), &before);
        prop_assert_eq!(fork.hashes(), hashes(4, None, &[prompt, more].concat()));
    }

    #[test]
    fn salts_separate_everything(
        prompt in vec(any::<u32>(), 1..60),
        one in proptest::option::of(vec(any::<u8>(), 0..40)),
        other in proptest::option::of(vec(any::<u8>(), 0..40)),
        session in ".{0,20}",
    ) {
        prop_assume!(one != other);
        let (one, other) = (scheme(1, one.as_deref()).seed(), scheme(1, other.as_deref()).seed());
        prop_assert_ne!(one.fingerprint(), other.fingerprint());
        prop_assert_ne!(AffinityKey::session(&one, &session), AffinityKey::session(&other, &session));
        let (mut one, mut other) = (one.chain(), other.chain());
        one.extend(&prompt);
        other.extend(&prompt);
        prop_assert!(one.hashes().iter().zip(other.hashes()).all(|(one, other)| one != other));
    }

    #[test]
    fn a_route_tag_tells_workers_and_lives_apart(name in ".{0,20}", more in ".{1,5}", generation in any::<u64>()) {
        let tag = RouteTag::of(&name, generation);
        prop_assert_eq!(tag, RouteTag::of(&name, generation));
        prop_assert_ne!(tag, RouteTag::of(&format!("{name}{more}"), generation));
        prop_assert_ne!(tag, RouteTag::of(&name, generation.wrapping_add(1)));
    }

    #[test]
    fn a_spread_has_as_many_keys_as_ways(static_hash in any::<[u8; 8]>(), ways in 1..6_u32) {
        let seed = scheme(16, None).seed();
        let ways = ways.try_into().unwrap();
        let keys: std::collections::BTreeSet<_> = (0..100)
            .map(|id| AffinityKey::session(&seed, &format!("session {id}")))
            .map(|session| AffinityKey::spread(PrefixHash::from_bytes(static_hash), session, ways))
            .collect();
        prop_assert_eq!(keys.len(), ways.get() as usize);
    }
}

#[test]
fn no_field_of_the_scheme_can_stand_in_for_another() {
    let base = scheme(16, None);
    let schemes = [
        base,
        Scheme {
            tokenizer: "a",
            ..base
        },
        Scheme {
            template: "a",
            ..base
        },
        Scheme {
            cleaning: "a",
            ..base
        },
        Scheme { model: "a", ..base },
        Scheme {
            tokenizer: "ab",
            ..base
        },
        Scheme {
            tokenizer: "a",
            template: "b",
            ..base
        },
        Scheme {
            block: BlockSize::new(17).unwrap(),
            ..base
        },
        Scheme {
            add_special_tokens: true,
            ..base
        },
        Scheme {
            salt: Some(b""),
            ..base
        },
        Scheme {
            salt: Some(b"a"),
            ..base
        },
    ];
    let fingerprints: std::collections::BTreeSet<_> = schemes
        .iter()
        .map(|scheme| scheme.seed().fingerprint())
        .collect();
    assert_eq!(fingerprints.len(), schemes.len());
}

fn scheme(block: u32, salt: Option<&[u8]>) -> Scheme<'_> {
    Scheme {
        tokenizer: "",
        template: "",
        cleaning: "",
        block: BlockSize::new(block).unwrap(),
        add_special_tokens: false,
        model: "",
        salt,
    }
}

fn hashes(block: u32, salt: Option<&[u8]>, tokens: &[u32]) -> Vec<PrefixHash> {
    let mut chain = scheme(block, salt).seed().chain();
    chain.extend(tokens);
    chain.hashes().to_vec()
}
