//! The borders between the crates, as a test: which crate may use which, and which outside crates
//! may never appear below which of ours, each with its reason.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first surprise, in its helpers too"
)]

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

/// Every allowed arrow between our crates. An arrow that is missing here is forbidden.
const ARROWS: &[(&str, &[&str])] = &[
    ("headwater-signature", &[]),
    ("headwater-text", &[]),
    ("headwater-template", &["headwater-text"]),
    (
        "headwater",
        &[
            "headwater-signature",
            "headwater-text",
            "headwater-template",
        ],
    ),
    ("headwater-lint", &["headwater-text", "headwater-template"]),
    ("headwater-placement", &["headwater-signature"]),
    (
        "headwater-router",
        &["headwater-signature", "headwater-placement"],
    ),
    (
        "headwater-simulator",
        &["headwater-signature", "headwater-placement"],
    ),
    (
        "headwater-cli",
        &[
            "headwater",
            "headwater-lint",
            "headwater-placement",
            "headwater-router",
            "headwater-signature",
            "headwater-simulator",
            "headwater-text",
        ],
    ),
];

/// Outside crates that may not be anywhere in the normal dependency tree of one of ours.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "headwater-signature",
        &[
            "tokio",
            "reqwest",
            "hyper",
            "rand",
            "getrandom",
            "serde_json",
            "tracing",
        ],
        "naming a prefix is arithmetic: no I/O, no dice, no clock, nothing to configure",
    ),
    (
        "headwater-text",
        &[
            "tokio",
            "reqwest",
            "hyper",
            "rand",
            "getrandom",
            "regex",
            "tracing",
        ],
        "cleaning must give the same bytes on every machine",
    ),
    (
        "headwater-placement",
        &[
            "tokio",
            "reqwest",
            "hyper",
            "rand",
            "getrandom",
            "tracing",
            "serde",
            "prometheus",
        ],
        "the router, the simulator and Python must get the same decision from the same inputs",
    ),
    (
        "headwater-simulator",
        &[
            "tokio",
            "reqwest",
            "hyper",
            "rand",
            "getrandom",
            "tokenizers",
            "minijinja",
        ],
        "time is virtual and everything drawn comes from a seed: same arguments, same bytes",
    ),
    (
        "headwater-template",
        &["tokio", "reqwest", "hyper", "tokenizers"],
        "a template is text that was handed in",
    ),
    (
        "headwater-lint",
        &["tokio", "reqwest", "hyper", "tokenizers"],
        "the linter never touches the network, and prices tokens without a vocabulary",
    ),
    (
        "headwater",
        &["tokio", "reqwest", "hyper"],
        "an application backend brings its own HTTP client and runtime",
    ),
    (
        "headwater-router",
        &[
            "tokenizers",
            "minijinja",
            "saphyr",
            "onig",
            "onig_sys",
            "native-tls",
            "openssl",
        ],
        "the router routes on the header alone: it holds no tokenizer, no template and no rule",
    ),
];

#[test]
fn arrows_between_crates_are_those_of_the_design() {
    let metadata = metadata();
    let ours: BTreeSet<&str> = metadata
        .workspace_packages()
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    let known: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        ours, known,
        "the table of arrows names every crate of the workspace and no other"
    );

    for package in metadata.workspace_packages() {
        let allowed = arrows_from(package.name.as_str());
        for dependency in package
            .dependencies
            .iter()
            .filter(|d| ours.contains(d.name.as_str()))
        {
            assert!(
                allowed.contains(&dependency.name.as_str()),
                "{} may not use {}: the arrow is not in the design (see ARCHITECTURE.md, Code map)",
                package.name,
                dependency.name
            );
        }
    }
}

#[test]
fn arrows_have_no_cycle() {
    // A crate that stands before all its users in some order proves that there is none.
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    while placed.len() < ARROWS.len() {
        let next: Vec<&str> = ARROWS
            .iter()
            .filter(|(name, uses)| {
                !placed.contains(name) && uses.iter().all(|u| placed.contains(u))
            })
            .map(|(name, _)| *name)
            .collect();
        assert!(
            !next.is_empty(),
            "the remaining crates use each other in a circle"
        );
        placed.extend(next);
    }
}

#[test]
fn forbidden_crates_stay_out() {
    let metadata = metadata();
    for (crate_name, forbidden, reason) in FORBIDDEN {
        let tree = normal_tree(&metadata, crate_name);
        for name in *forbidden {
            assert!(
                !tree.contains(*name),
                "{name} is in the tree of {crate_name}, but {reason}"
            );
        }
    }
}

#[test]
fn the_tree_walk_sees_what_is_there() {
    let metadata = metadata();
    assert!(normal_tree(&metadata, "headwater").contains("tokenizers"));
    assert!(normal_tree(&metadata, "headwater-lint").contains("minijinja"));
    assert!(normal_tree(&metadata, "headwater-router").contains("hyper"));
}

#[test]
fn no_unsafe_anywhere() {
    let manifest =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).unwrap();
    assert!(manifest.contains("unsafe_code = \"forbid\""));
    for package in metadata().workspace_packages() {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{} does not take the lint table of the workspace",
            package.name
        );
    }
}

/// Style point 2: at 400 lines ask, at 600 split. Flat tables may ask for an exception here.
#[test]
fn files_stay_small() {
    const LIMIT_LINES: usize = 600;
    let mut too_long = Vec::new();
    for package in metadata().workspace_packages() {
        let src = package.manifest_path.parent().unwrap().join("src");
        visit(src.as_std_path(), &mut |path, text| {
            if text.lines().count() > LIMIT_LINES {
                too_long.push(path.display().to_string());
            }
            assert!(
                text.starts_with("//!"),
                "{} does not say in its first line what it is for",
                path.display()
            );
        });
    }
    assert!(
        too_long.is_empty(),
        "over {LIMIT_LINES} lines, each with more than one job: {too_long:?}"
    );
}

fn metadata() -> Metadata {
    // For this machine's platform only: crates of other platforms may not have been fetched.
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .other_options(vec![
            "--offline".into(),
            "--locked".into(),
            "--filter-platform".into(),
            host(),
        ])
        .exec()
        .unwrap()
}

fn host() -> String {
    let rustc = std::process::Command::new("rustc")
        .arg("-vV")
        .output()
        .unwrap();
    let text = String::from_utf8(rustc.stdout).unwrap();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}

fn arrows_from(name: &str) -> &'static [&'static str] {
    ARROWS
        .iter()
        .find(|(from, _)| *from == name)
        .map_or(&[], |(_, to)| to)
}

/// Names of all crates that `name` needs at run time, however far down.
fn normal_tree(metadata: &Metadata, name: &str) -> BTreeSet<String> {
    let resolve = metadata.resolve.as_ref().unwrap();
    let nodes: BTreeMap<&PackageId, _> = resolve.nodes.iter().map(|n| (&n.id, n)).collect();
    let names: BTreeMap<&PackageId, &str> = metadata
        .packages
        .iter()
        .map(|p| (&p.id, p.name.as_str()))
        .collect();
    let root = metadata
        .workspace_packages()
        .into_iter()
        .find(|p| p.name.as_str() == name)
        .unwrap()
        .id
        .clone();

    let mut seen = BTreeSet::from([root.clone()]);
    let mut queue = vec![root];
    while let Some(id) = queue.pop() {
        for dependency in &nodes[&id].deps {
            let is_normal = dependency
                .dep_kinds
                .iter()
                .any(|k| k.kind == DependencyKind::Normal);
            if is_normal && seen.insert(dependency.pkg.clone()) {
                queue.push(dependency.pkg.clone());
            }
        }
    }
    seen.iter().map(|id| names[id].to_owned()).collect()
}

fn visit(folder: &std::path::Path, see: &mut impl FnMut(&std::path::Path, &str)) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            visit(&path, see);
        } else if path.extension().is_some_and(|e| e == "rs") {
            see(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}
