//! One input from its bytes to its findings.

use std::collections::{BTreeMap, BTreeSet};

use headwater_template::{
    Document, Format, SourceError, SourceErrorKind, Template, Volatility, read,
};

use crate::{declared, finding::Finding, linter::Linter, report::Outcome};

/// The most bytes of an input that are read. A caller need not load more than one byte more.
pub const MAX_INPUT_BYTES: usize = headwater_template::MAX_SOURCE_BYTES;

/// A file to judge.
pub struct Input<'a> {
    /// Its path; the name says which language it may be.
    pub path: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
    /// What its folder says about variables.
    pub declared: &'a BTreeMap<String, Volatility>,
    /// Gives the bytes of another file that a template includes, by the name that it has there.
    pub load: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// Counts the tokens of a text; without it four bytes are taken for a token.
    pub count_tokens: Option<&'a dyn Fn(&str) -> usize>,
}

/// What became of an input.
#[derive(Debug)]
#[non_exhaustive]
pub enum Checked {
    /// It was judged.
    Judged(Outcome),
    /// It cannot be read: `line:column`, what is wrong, what was expected.
    Unreadable(String),
    /// It is a template in a language that is not parsed yet; the language.
    Unsupported(&'static str),
    /// Nothing about it says that it is a template.
    NotATemplate,
}

impl<'a> Input<'a> {
    /// A file that stands alone: other files are not found, and tokens are estimated.
    pub fn alone(
        path: &'a str,
        bytes: &'a [u8],
        declared: &'a BTreeMap<String, Volatility>,
    ) -> Self {
        Self {
            path,
            bytes,
            declared,
            load: &|_| None,
            count_tokens: None,
        }
    }
}

impl Linter {
    /// Judges the bytes of a file; `declared` is what its folder says about variables.
    pub fn check(
        &self,
        path: &str,
        bytes: &[u8],
        declared: &BTreeMap<String, Volatility>,
    ) -> Checked {
        self.check_input(&Input::alone(path, bytes, declared))
    }

    /// Judges every prompt in a file.
    pub fn check_input(&self, input: &Input<'_>) -> Checked {
        let document = match read(input.path, input.bytes, input.load) {
            Ok(document) => document,
            // Bytes that are no text tell nothing about the language; the name may.
            Err(error) => return unreadable(input, &error),
        };
        match document.format {
            Format::Unsupported(language) => return Checked::Unsupported(language),
            Format::NotATemplate => return Checked::NotATemplate,
            _ => {}
        }
        match problem(&document) {
            Some(reason) => Checked::Unreadable(reason),
            None => Checked::Judged(self.judge(document, input)),
        }
    }

    fn judge(&self, document: Document, input: &Input<'_>) -> Outcome {
        let mut findings = Vec::new();
        let mut templates = Vec::new();
        let mut known = BTreeSet::new();
        for template in document.templates {
            let declared = declared::expand(input.declared, &template);
            let template = template.with_declared(&declared);
            let mut found = self.find(&template);
            if let Some(count) = input.count_tokens {
                recount(&mut found, &template, count);
            }
            // Aliases bring the same text into several prompts; it is judged at its one place.
            found.retain(|finding| known.insert((finding.rule.clone(), finding.span)));
            findings.append(&mut found);
            templates.push(template);
        }
        let (findings, suppressed) = self.settle(&document.file, templates.iter(), findings);
        Outcome {
            path: input.path.to_owned(),
            text: document.file.text().to_owned(),
            findings,
            suppressed,
            notes: document.notes,
        }
    }
}

/// Bytes that are tokenized to price the findings of one template, each at the text behind it; beyond
/// that the template's own rate of tokens a byte is taken.
const MAX_COUNTED_BYTES: usize = 4 * 1024 * 1024;

/// Counts the tokens that findings cost.
fn recount(findings: &mut [Finding], template: &Template, count: &dyn Fn(&str) -> usize) {
    let text = template.static_text();
    if findings.is_empty() || text.is_empty() {
        return;
    }
    let all = count(&text);
    let mut left = MAX_COUNTED_BYTES;
    let mut known = BTreeMap::from([(text.len(), all)]);
    for finding in findings {
        let bytes = finding.cost_bytes;
        // As many of the last bytes as stand behind it: ways that are not taken and marks of roles count
        // for none, so that it may be the text next to it.
        let at = text.len().saturating_sub(bytes);
        let is_end = bytes <= text.len() && text.is_char_boundary(at);
        if is_end && !known.contains_key(&bytes) && bytes <= left {
            left -= bytes;
            known.insert(bytes, count(&text[at..]));
        }
        let by_rate = || bytes.saturating_mul(all).div_ceil(text.len());
        finding.cost_tokens = known.get(&bytes).copied().unwrap_or_else(by_rate);
    }
}

/// The first thing that was not understood, with its place in the file.
fn problem(document: &Document) -> Option<String> {
    let own = document
        .problems
        .iter()
        .map(|problem| (problem.span.start, &problem.message));
    let inside = document.templates.iter().flat_map(|template| {
        let source = template.source();
        template
            .problems()
            .iter()
            .map(|problem| (source.in_file(problem.span).start, &problem.message))
    });
    let (at, message) = own.chain(inside).min_by_key(|(at, _)| *at)?;
    Some(format!("{}: {message}", document.file.position(at)))
}

fn unreadable(input: &Input<'_>, error: &SourceError) -> Checked {
    match read(input.path, b"", input.load).map(|document| document.format) {
        Ok(Format::NotATemplate) => Checked::NotATemplate,
        Ok(Format::Unsupported(language)) => Checked::Unsupported(language),
        _ => Checked::Unreadable(in_words(error)),
    }
}

fn in_words(error: &SourceError) -> String {
    match error.kind {
        SourceErrorKind::NotUtf8 { byte: 0xFE | 0xFF } if error.position.column == 1 => {
            format!("{error} (this looks like UTF-16)")
        }
        _ => error.to_string(),
    }
}
