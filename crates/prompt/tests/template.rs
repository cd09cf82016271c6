//! The worked examples: each loads, renders with its sample values, and is signed so that requests
//! share what is stable.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::{collections::BTreeMap, fs, path::Path};

use headwater::{
    BytesTokenizer, Cleaning, Prompt, SignOptions, SignedPrompt, Volatility,
    templates::{self, PromptTemplate, RenderOptions, Source, Values},
};
use serde_json::json;

/// The default block of 16 tokens, where a token is four bytes.
const BLOCK_BYTES: usize = 64;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
    fs::read_to_string(root.join(path)).unwrap()
}

fn load(name: &str) -> PromptTemplate {
    let source = Source::from_bytes(read(&format!("{name}.j2")).as_bytes()).unwrap();
    // As `templates/headwater.yaml` declares them.
    let declared = BTreeMap::from([
        ("company".to_owned(), templates::Volatility::Static),
        ("question".to_owned(), templates::Volatility::Dynamic),
    ]);
    PromptTemplate::load_with(source, &declared).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn sign(template: &PromptTemplate, values: &Values) -> SignedPrompt {
    let options = RenderOptions::default();
    let prompt = Prompt::from_template(template, values, &options, Cleaning::Verbatim).unwrap();
    prompt
        .sign(&BytesTokenizer, &SignOptions::default())
        .unwrap()
}

/// Blocks from the start that two prompts name alike.
fn shared_blocks(a: &SignedPrompt, b: &SignedPrompt) -> u32 {
    let (a, b) = (a.signature().rungs(), b.signature().rungs());
    let alike = a.iter().filter(|rung| b.contains(rung));
    alike.map(|rung| rung.blocks).max().unwrap_or_default()
}

/// Signs the template with its values, and again with `name` changed: the parts before the one that
/// `volatility` names stay, and their last whole block is a rung of both.
#[track_caller]
fn check(template: &str, name: &str, volatility: Volatility, expected_parts: &[&str]) {
    let loaded = load(template);
    let values = Values::from_json(&read(&format!("values/{template}.json"))).unwrap();
    let other_tenant = json!({"name": "South Dock", "contact": "none", "glossary": {}});
    let other = if name == "tenant" {
        other_tenant
    } else {
        json!(["something else"])
    };
    let changed = values.clone().with(name, other);
    let parts = loaded.render(&values, &RenderOptions::default()).unwrap();
    let names: Vec<_> = parts
        .iter()
        .map(|(volatility, _)| volatility.as_str())
        .collect();
    assert_eq!(names, expected_parts, "{template}");

    let stable: String = parts
        .iter()
        .filter(|(each, _)| Volatility::from(*each) < volatility)
        .map(|(_, text)| text.as_str())
        .collect();
    let (one, other) = (sign(&loaded, &values), sign(&loaded, &changed));
    let whole: String = parts.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(one.text(), whole);
    assert!(
        other.text().starts_with(&stable),
        "{template}: `{name}` reaches the stable part"
    );
    assert_ne!(one.text(), other.text());
    let blocks = u32::try_from(stable.len() / BLOCK_BYTES).unwrap();
    assert!(blocks > 0, "{template}");
    assert!(shared_blocks(&one, &other) >= blocks, "{template}: {name}");
}

#[test]
fn examples_share_their_stable_parts() {
    use Volatility::{Dynamic, SemiStatic};
    let all = ["static", "semi_static", "dynamic"];
    let two = ["static", "dynamic"];
    check("support-bot", "question", Dynamic, &all);
    check("support-bot", "today", Dynamic, &all);
    check("support-bot", "orders", SemiStatic, &all);
    check("rag", "question", Dynamic, &two);
    check("rag", "documents", Dynamic, &two);
    check("agent", "git_status", Dynamic, &two);
    check("few-shot", "review", Dynamic, &two);
    check("document-qa", "question", Dynamic, &all);
    check("document-qa", "document", SemiStatic, &all);
    check("multi-tenant", "question", Dynamic, &all);
    check("multi-tenant", "snippets", Dynamic, &all);
    check("multi-tenant", "tenant", SemiStatic, &all);
    check("chat", "messages", Dynamic, &two);
}

#[test]
fn every_example_has_values_and_a_check() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
    let stems = |folder: &Path, extension: &str| {
        let paths = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut stems: Vec<String> = paths
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        stems.sort();
        stems
    };
    let known = [
        "agent",
        "chat",
        "document-qa",
        "few-shot",
        "multi-tenant",
        "rag",
        "support-bot",
    ];
    assert_eq!(stems(&root, "j2"), known);
    assert_eq!(stems(&root.join("values"), "json"), known);
}

#[test]
fn errors_name_the_place_in_the_template() {
    let source = Source::from_bytes(b"a\n{{ raise_exception('no') }}").unwrap();
    let template = PromptTemplate::load(source).unwrap();
    let options = RenderOptions::default();
    let outcome = Prompt::from_template(&template, &Values::new(), &options, Cleaning::Verbatim);
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "the template cannot be rendered: 2:4: the template refuses the values: no"
    );
}
