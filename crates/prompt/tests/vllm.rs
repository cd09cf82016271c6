//! Block hashes and reuse as recorded from vLLM 0.32.0.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use headwater::signature::BlockSize;
use headwater::vllm::{
    BlockDigest, BlockHashes, CacheSalt, EventHash, HashSeed, SaltError, predicted_cached,
};
use headwater::{BytesTokenizer, Chat, Prepared, SignOptions, Tokenize, Turn};

fn block(tokens: u32) -> BlockSize {
    BlockSize::new(tokens).unwrap()
}

fn hashes<'a>(block_tokens: u32, salt: Option<&'a str>) -> BlockHashes<'a> {
    BlockHashes {
        seed: HashSeed::Default,
        block: block(block_tokens),
        salt: salt.map(|salt| CacheSalt::new(salt).unwrap()),
    }
}

#[test]
fn the_parent_of_the_first_block() {
    let check = |seed: HashSeed<'_>, expected: &str| {
        assert_eq!(seed.none_hash().to_string(), expected);
    };
    check(
        HashSeed::Default,
        "9bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0",
    );
    check(
        HashSeed::PythonHashSeed("0"),
        "4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e",
    );
}

#[test]
fn a_block_without_salt() {
    let tokens: Vec<u32> = (100..116).collect();
    let digests = hashes(16, None).of(&tokens);
    let expected = "c78a554a1b648c084577886fa29e20b89d606beb26cafd7f90ba7482f31901bc";
    assert_eq!(digests, [expected.parse::<BlockDigest>().unwrap()]);
}

/// Recorded from a running engine: its event said the number.
#[test]
fn a_block_with_a_salt_and_its_event() {
    let tokens = [
        6727, 220, 16, 22, 24, 20, 24, 24, 18, 22, 16, 17, 16, 19, 22, 15, 19, 21, 21, 23, 24, 13,
        3776, 2504, 9982, 264, 8356, 1372, 315, 11211, 13, 3776,
    ];
    let digests = hashes(32, Some("tenant-1")).of(&tokens);
    assert_eq!(digests.len(), 1);
    assert_eq!(
        digests[0].to_string(),
        "a1464bb9d16017933bbd4ae3ae507619b9bb97919219d3c335689b3457466461"
    );
    assert_eq!(
        digests[0].event(),
        EventHash::new(3_848_496_530_692_924_513)
    );
}

#[test]
fn a_longer_prompt_keeps_the_names_of_the_shorter() {
    let tokens: Vec<u32> = (0..700).map(|token| token * 397).collect();
    for size in [1, 4, 16, 32, 128, 256, 700] {
        let whole = hashes(size, Some("s")).of(&tokens);
        assert_eq!(whole.len(), 700 / usize::try_from(size).unwrap());
        let shorter = hashes(size, Some("s")).of(&tokens[..699]);
        assert!(whole.starts_with(&shorter));
    }
    assert!(hashes(701, None).of(&tokens).is_empty());
    assert_eq!(hashes(65_536, None).of(&vec![7; 65_536]).len(), 1);
}

#[test]
fn seed_salt_block_and_every_token_before_change_every_name() {
    let tokens: Vec<u32> = (0..64).collect();
    let base = hashes(16, None).of(&tokens);
    let seeded = BlockHashes {
        seed: HashSeed::PythonHashSeed("77"),
        ..hashes(16, None)
    };
    let mut edited = tokens.clone();
    edited[0] = 99;
    for other in [
        seeded.of(&tokens),
        hashes(16, Some("a")).of(&tokens),
        hashes(16, Some("b")).of(&tokens),
        hashes(32, None).of(&tokens),
        hashes(16, None).of(&edited),
    ] {
        assert!(base.iter().all(|digest| !other.contains(digest)));
    }
}

#[test]
fn a_salt_is_what_the_engine_takes() {
    assert_eq!(CacheSalt::new(""), Err(SaltError::Empty));
    let longest = "é".repeat(1024);
    assert!(CacheSalt::new(&longest).is_ok());
    assert_eq!(
        CacheSalt::new(&(longest + "é")),
        Err(SaltError::TooLong { characters: 1025 })
    );
    let shown = format!("{:?}", hashes(16, Some("hush")));
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn a_digest_reads_back_from_its_text() {
    let digest = HashSeed::Default.none_hash();
    assert_eq!(digest.to_string().parse(), Ok(digest));
    assert_eq!(digest.to_string().to_uppercase().parse(), Ok(digest));
    for text in ["", "9b", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
        assert!(text.parse::<BlockDigest>().is_err(), "{text}");
    }
}

/// Pairs of prompts, the second an edit of the first: equal leading tokens, tokens of the
/// second, and what the engine said it took from its cache, at 16 tokens a block. (The pair
/// with another salt is not here: then no block has an equal name, whatever the tokens.)
#[test]
fn reuse_is_as_measured() {
    for (equal, prompt, cached, edit) in [
        (2426, 2426, 2416, "none, completions"),
        (2436, 2436, 2432, "none, chat"),
        (2424, 2440, 2416, "another question"),
        (2437, 2464, 2432, "the next turn"),
        (23, 2461, 16, "the time at the front"),
        (1212, 2395, 1200, "the time in the middle"),
        (2441, 2449, 2432, "the time in the user turn"),
        (2412, 2422, 2400, "a space behind the static prefix"),
        (2416, 2436, 2416, "a space behind the system message"),
        (36, 2437, 32, "two spaces in the first sentence"),
        (34, 2438, 32, "CRLF"),
        (1208, 2375, 1200, "CRLF in the second half"),
        (2470, 2894, 2464, "tools reversed, long system text"),
        (86, 2894, 80, "tools reversed, short system text"),
        (353, 2892, 352, "one tool more"),
        (107, 2890, 96, "keys reversed in parameters"),
        (2892, 2892, 2880, "keys reversed in the tool"),
        (42, 2457, 32, "keys reversed in text"),
        (42, 1856, 32, "other separators"),
        (36, 2437, 32, "a zero-width space in the first line"),
        (1188, 2368, 1184, "a zero-width space in the middle"),
        (3, 2438, 0, "a byte order mark"),
        (2439, 2439, 2432, "NFD"),
        (37, 2438, 32, "a no-break space"),
        (2437, 2437, 2432, "content parts"),
        (2441, 2441, 2432, "other sampling"),
        (2418, 2438, 2416, "no tools"),
        (2434, 2438, 2432, "thinking off"),
    ] {
        assert_eq!(predicted_cached(equal, prompt, block(16)), cached, "{edit}");
    }
}

#[test]
fn the_last_token_is_always_computed() {
    let check = |equal, prompt, tokens, cached| {
        assert_eq!(predicted_cached(equal, prompt, block(tokens)), cached);
    };
    check(64, 64, 16, 48);
    check(65, 65, 16, 64);
    check(64, 65, 16, 64);
    check(2436, 2436, 1, 2435);
    check(2426, 2426, 32, 2400);
    check(0, 0, 16, 0);
    check(usize::MAX, usize::MAX, 16, usize::MAX - 15);
    check(100, 100, 65_536, 0);
}

#[test]
fn a_signed_prompt_has_the_ids_of_its_text() {
    let chat = Chat::new().system("You answer questions about the harbour.");
    let head = Prepared::new(chat, BytesTokenizer, SignOptions::default()).unwrap();
    let mut talk = head.conversation();
    for question in ["When is high tide?", "And when is the next one?"] {
        let signed = talk.ask(Turn::user(question)).unwrap();
        let encoded = BytesTokenizer.encode(signed.text(), &[]).unwrap();
        assert_eq!(signed.token_ids(), encoded.ids);
        assert_eq!(signed.token_ids().len(), signed.tokens() as usize);
        let blocks = hashes(16, None).of(signed.token_ids());
        assert_eq!(blocks.len(), signed.blocks() as usize);
    }
}
