//! The linter as it is set up: where included files are found, tokens counted, manual pages, the action.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

const CLOCK: &str = "It is {{ now }}.\nYou are a clerk who answers politely.\n{{ question }}\n";

fn headwater(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.args(args).current_dir(folder).env_clear();
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A folder that is the root of a repository.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn included_files_are_found_where_loaders_look() {
    let name = "{% include 'part.j2' %}\nYou are a clerk who answers politely.\n";
    let part = "It is {{ now }}.\n";
    let config = "roots: [shared]\n";
    let check = |files: &[(&str, &str)], from: &str, path: &str, is_found: bool| {
        let folder = folder(files);
        let here = folder.path().join(from);
        fs::create_dir_all(&here).unwrap();
        let output = headwater(&here, &["lint", path, "--format", "concise"]);
        let said = stdout(&output);
        assert_eq!(said.contains("HW201"), is_found, "{files:?}: {said}");
    };
    let here = "prompts/a.j2";
    check(&[(here, name), ("prompts/part.j2", part)], ".", here, true);
    check(&[(here, name), ("part.j2", part)], ".", here, true);
    let shared = [(here, name), ("shared/part.j2", part)];
    check(&shared, ".", here, false);
    let shared = [
        (here, name),
        ("shared/part.j2", part),
        ("headwater.yaml", config),
    ];
    check(&shared, ".", here, true);
    // The working folder.
    let work = [(here, name), ("work/part.j2", part)];
    check(&work, "work", "../prompts/a.j2", true);
    // Beside the file comes first.
    let both = [
        (here, name),
        ("prompts/part.j2", "Be kind.\n"),
        ("shared/part.j2", part),
        ("headwater.yaml", config),
    ];
    check(&both, ".", here, false);
    // No name leads out of a folder.
    let out = "{% include '../part.j2' %}\nYou are a clerk who answers politely.\n";
    check(&[(here, out), ("part.j2", part)], ".", here, false);
}

/// A vocabulary of single bytes with one merge, as a `tokenizer.json`.
fn tiny_tokenizer() -> String {
    let mut vocabulary = serde_json::Map::new();
    let letters = (33_u8..=126).map(char::from).chain(['Ġ', 'Ċ']);
    for (id, letter) in letters.enumerate() {
        vocabulary.insert(letter.to_string(), json!(id));
    }
    vocabulary.insert("er".to_owned(), json!(vocabulary.len()));
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocabulary, "merges": [["e", "r"]]},
    })
    .to_string()
}

#[test]
fn a_tokenizer_counts() {
    let folder = folder(&[("a.j2", CLOCK), ("tokenizer.json", &tiny_tokenizer())]);
    let estimated = headwater(folder.path(), &["lint", "a.j2"]);
    assert!(stdout(&estimated).contains("about 10 static tokens behind this"));
    let counted = headwater(
        folder.path(),
        &["lint", "a.j2", "--tokenizer", "tokenizer.json"],
    );
    let said = stdout(&counted);
    // 38 letters, and twice "er" is one token: "clerk", "answers".
    assert!(said.contains(" 36 static tokens behind this"), "{said}");
    assert!(
        said.contains("; 36 static tokens could be cached and are not (by the tokenizer given)")
    );
    assert!(!said.contains("about"), "{said}");
    let args = [
        "lint",
        "a.j2",
        "--format",
        "json",
        "--tokenizer",
        "tokenizer.json",
    ];
    let report: Value = serde_json::from_slice(&headwater(folder.path(), &args).stdout).unwrap();
    assert_eq!(report["summary"]["tokens"], "counted");
    assert_eq!(report["findings"][0]["cost_tokens"], 36);
    let broken = headwater(folder.path(), &["lint", "a.j2", "--tokenizer", "a.j2"]);
    assert_eq!(broken.status.code(), Some(2));
}

#[test]
fn manual_pages() {
    let folder = folder(&[]);
    let output = headwater(folder.path(), &["man", "pages/man1"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = fs::read_to_string(folder.path().join("pages/man1/headwater-lint.1")).unwrap();
    assert!(
        page.contains(".SH NAME") && page.contains("fail\\-on"),
        "{page}"
    );
    assert!(folder.path().join("pages/man1/headwater.1").exists());
}

#[test]
fn sarif_has_every_place() {
    let twice = "It is {{ now }}.\nYou are a clerk.\nStill {{ now }}.\nNever promise a date.\n";
    let folder = folder(&[("a.j2", twice)]);
    let output = headwater(folder.path(), &["lint", "a.j2", "--format", "sarif"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let related = &report["runs"][0]["results"][0]["relatedLocations"];
    assert_eq!(related.as_array().unwrap().len(), 1);
    assert_eq!(related[0]["physicalLocation"]["region"]["startLine"], 3);
    assert_eq!(related[0]["physicalLocation"]["region"]["startColumn"], 10);
}

/// The script of the step of the action that lints.
fn step_of_action() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let action = fs::read_to_string(root.join("action.yml")).unwrap();
    let action: serde_yaml::Value = serde_yaml::from_str(&action).unwrap();
    let steps = action["runs"]["steps"].as_sequence().unwrap();
    let lint = steps.iter().find(|step| step["name"] == "Lint").unwrap();
    lint["run"].as_str().unwrap().to_owned()
}

/// Runs the step as the platform does; gives the exit code, the annotations, the summary and the SARIF.
#[cfg(unix)]
fn act(folder: &Path, args: &str) -> (i32, String, String, String) {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_headwater"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let output = Command::new("bash")
        .args([
            "--noprofile",
            "--norc",
            "-eo",
            "pipefail",
            "-c",
            &step_of_action(),
        ])
        .current_dir(folder)
        .env_clear()
        .envs([
            ("PATH", path.as_str()),
            ("PATHS", "prompts"),
            ("ARGS", args),
            ("SARIF", "headwater.sarif"),
            ("GITHUB_STEP_SUMMARY", "summary.md"),
        ])
        .output()
        .unwrap();
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    (
        output.status.code().unwrap(),
        stdout(&output),
        file("summary.md"),
        file("headwater.sarif"),
    )
}

#[cfg(unix)]
#[test]
fn the_actions_step_reports_and_fails() {
    let folder = folder(&[("prompts/a.j2", CLOCK)]);
    let (code, annotations, summary, sarif) = act(folder.path(), "");
    assert_eq!(code, 1);
    assert!(
        annotations.starts_with("::error file=prompts/a.j2,line=1,col=10,"),
        "{annotations}"
    );
    assert!(summary.contains("HW201"), "{summary}");
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 1);
    let (code, ..) = act(folder.path(), "--ignore HW201");
    assert_eq!(code, 0);
    // What cannot run is no success.
    let (code, ..) = act(folder.path(), "--no-such-option");
    assert_eq!(code, 2);
}
