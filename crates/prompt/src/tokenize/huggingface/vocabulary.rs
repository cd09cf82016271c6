//! A loaded `tokenizer.json`, and how one piece of text goes through it.

use std::collections::{BTreeMap, BTreeSet};

use tokenizers::models::ModelWrapper;
use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::tokenizer::{Model, PreTokenizer};
use tokenizers::{AddedToken, AddedVocabulary, Encoding, OffsetType, Tokenizer};

use super::controls::{self, Controls, Normalizer};
use crate::{SpecialTokens, TokenizeError, Tokens};

/// Characters of which every vocabulary lacks one, if it lacks any: for private use, of dead
/// scripts, new. Several, because some normalizers drop some.
const UNKNOWN: [&str; 4] = ["\u{10FFFD}", "\u{13000}", "\u{10600}", "\u{1FAE9}"];

/// Where a piece stands in the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At its very start.
    First,
    /// Behind something.
    Later,
}

/// What control tokens that are spelled out in a piece become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelled {
    /// The characters they are written with.
    Plain,
    /// Their ids.
    Control,
}

/// How a piece is encoded, besides its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) place: Place,
    pub(super) spelled: Spelled,
}

pub(super) struct Vocabulary {
    tokenizer: Tokenizer,
    /// Knows no control tokens, so that text cannot spell one.
    plain: AddedVocabulary,
    /// For pieces that are not the first, where the file treats the first one differently.
    later: Option<PreTokenizerWrapper>,
    controls: Controls,
    /// What stands for characters that the vocabulary does not have.
    unknown: BTreeSet<u32>,
    /// What the file adds in front of a text, and behind it.
    pub(super) around: [Vec<u32>; 2],
}

impl Vocabulary {
    pub(super) fn load(
        json: &[u8],
        special_tokens: SpecialTokens,
    ) -> Result<Self, tokenizers::Error> {
        let mut tokenizer = Tokenizer::from_bytes(json)?;
        tokenizer.with_padding(None).with_truncation(None)?;
        without_dropout(&mut tokenizer);
        let around = match special_tokens {
            SpecialTokens::Added => added_tokens(&tokenizer)?,
            SpecialTokens::Omitted => Default::default(),
        };
        // NOTE: it would also move the ends of tokens (ByteLevel trims blanks from them).
        tokenizer.with_post_processor(None::<tokenizers::PostProcessorWrapper>);

        let decoder = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
        let added: BTreeMap<u32, AddedToken> = decoder.clone().into_iter().collect();
        let normalizer = effect(tokenizer.get_normalizer());
        let mut vocabulary = Self {
            plain: plain(&tokenizer, &added)?,
            later: tokenizer.get_pre_tokenizer().and_then(for_later_pieces),
            controls: Controls::find(&added, normalizer),
            unknown: BTreeSet::new(),
            around,
            tokenizer,
        };
        let way = Way {
            place: Place::Later,
            spelled: Spelled::Plain,
        };
        for character in UNKNOWN {
            let tokens = vocabulary.run(character, way)?;
            vocabulary.unknown.extend(tokens.get_ids());
        }
        Ok(vocabulary)
    }

    pub(super) fn controls(&self) -> &Controls {
        &self.controls
    }

    /// How the model writes a token.
    pub(super) fn text_of(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// Whether it matters where a piece stands.
    pub(super) fn place(&self, start: usize) -> Place {
        match (start, &self.later) {
            (0, Some(_)) => Place::First,
            _ => Place::Later,
        }
    }

    /// Encodes a piece. Ends count from its start.
    pub(super) fn encode(&self, piece: &str, way: Way) -> Result<Tokens, TokenizeError> {
        let mut tokens = Tokens::default();
        // The next one last. A part that is cut again gets shorter, so this ends.
        let mut parts = Vec::new();
        parts.push(0..piece.len());
        while let Some(part) = parts.pop() {
            let Some(text) = piece.get(part.clone()).filter(|text| !text.is_empty()) else {
                continue;
            };
            let place = if part.start == 0 {
                way.place
            } else {
                Place::Later
            };
            let encoding = self
                .run(text, Way { place, ..way })
                .map_err(|error| TokenizeError::encode(&error))?;
            let mut end = part.end;
            let forged = match way.spelled {
                Spelled::Plain => self.forged(text, &encoding),
                Spelled::Control => Vec::new(),
            };
            if forged.is_empty() {
                append(&encoding, part.start, &mut tokens);
                continue;
            }
            for cut in forged.into_iter().rev() {
                parts.push(part.start + cut..end);
                end = part.start + cut;
            }
            parts.push(part.start..end);
        }
        Ok(tokens)
    }

    /// Places at which to cut a text so that the model itself does not make control tokens of
    /// it: some models have them among their ordinary pieces.
    fn forged(&self, piece: &str, encoding: &Encoding) -> Vec<usize> {
        let tokens = encoding.get_ids().iter().zip(encoding.get_offsets());
        let control = |id: &u32| self.controls.has_id(*id) && !self.unknown.contains(id);
        let forged = tokens.filter(|(id, _)| control(id));
        let cuts = forged.filter_map(|(_, (start, end))| {
            let first = piece.get(*start..*end)?.chars().next()?;
            Some(start + first.len_utf8()).filter(|cut| cut < end)
        });
        cuts.collect()
    }

    /// What `Tokenizer::encode` does, with a choice of added tokens and of the piece's place.
    fn run(&self, piece: &str, way: Way) -> Result<Encoding, tokenizers::Error> {
        let added = match way.spelled {
            Spelled::Plain => &self.plain,
            Spelled::Control => self.tokenizer.get_added_vocabulary(),
        };
        let mut split = added.extract_and_normalize(self.tokenizer.get_normalizer(), piece);
        let pre_tokenizer = match (way.place, &self.later) {
            (Place::Later, Some(later)) => Some(later),
            _ => self.tokenizer.get_pre_tokenizer(),
        };
        if let Some(pre_tokenizer) = pre_tokenizer {
            pre_tokenizer.pre_tokenize(&mut split)?;
        }
        let model = self.tokenizer.get_model();
        model.tokenize_in_pretokenized(&mut split, None)?;
        split.into_encoding(None, 0, OffsetType::Byte)
    }
}

fn append(encoding: &Encoding, at: usize, to: &mut Tokens) {
    to.ids.extend_from_slice(encoding.get_ids());
    let mut end = at;
    let ends = encoding.get_offsets().iter().map(|(_, offset)| {
        // Tokens without text of their own report an end of 0.
        end = end.max(at + offset);
        end
    });
    to.ends.extend(ends);
}

/// Dropout merges at random, which is for training.
fn without_dropout(tokenizer: &mut Tokenizer) {
    if let ModelWrapper::BPE(model) = tokenizer.get_model()
        && model.dropout.is_some()
    {
        let mut model = model.clone();
        model.dropout = None;
        tokenizer.with_model(model);
    }
}

/// The added tokens of a file with all that steer the model switched off.
fn plain(
    tokenizer: &Tokenizer,
    added: &BTreeMap<u32, AddedToken>,
) -> Result<AddedVocabulary, tokenizers::Error> {
    let mut plain = tokenizer.get_added_vocabulary().clone();
    let controls = added.values().filter(|token| controls::is_control(token));
    let special = controls.map(|token| token.clone().special(true));
    plain.add_tokens(special, tokenizer.get_model(), tokenizer.get_normalizer())?;
    plain.set_encode_special_tokens(true);
    Ok(plain)
}

fn effect(normalizer: Option<&NormalizerWrapper>) -> Normalizer {
    match normalizer {
        None => Normalizer::Identity,
        Some(NormalizerWrapper::Sequence(all))
            if all
                .as_ref()
                .iter()
                .all(|one| effect(Some(one)) == Normalizer::Identity) =>
        {
            Normalizer::Identity
        }
        Some(_) => Normalizer::Changes,
    }
}

/// The pre-tokenizer for pieces that do not stand at the start of the text, if that matters: a
/// `Metaspace` that puts its mark before the first word only.
fn for_later_pieces(pre_tokenizer: &PreTokenizerWrapper) -> Option<PreTokenizerWrapper> {
    let mut later = pre_tokenizer.clone();
    never_prepend(&mut later).then_some(later)
}

/// Whether anything changed.
fn never_prepend(pre_tokenizer: &mut PreTokenizerWrapper) -> bool {
    match pre_tokenizer {
        PreTokenizerWrapper::Metaspace(metaspace)
            if metaspace.get_prepend_scheme() == PrependScheme::First =>
        {
            metaspace.set_prepend_scheme(PrependScheme::Never);
            true
        }
        PreTokenizerWrapper::Sequence(all) => {
            let mut changed = false;
            for one in all.as_mut() {
                changed |= never_prepend(one);
            }
            changed
        }
        _ => false,
    }
}

/// What the file's post-processor puts before and after a text, learned from a short one.
fn added_tokens(tokenizer: &Tokenizer) -> Result<[Vec<u32>; 2], tokenizers::Error> {
    let encoding = tokenizer.encode("a", true)?;
    let ids = encoding.get_ids();
    let special = encoding.get_special_tokens_mask();
    let front = special.iter().take_while(|mask| **mask == 1).count();
    let back = special
        .iter()
        .skip(front)
        .rev()
        .take_while(|mask| **mask == 1)
        .count();
    let (front, rest) = ids.split_at(front);
    let back = rest.iter().skip(rest.len() - back).copied().collect();
    Ok([front.to_vec(), back])
}
