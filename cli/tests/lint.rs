//! `headwater lint` and `headwater explain` as a terminal or a CI job runs them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The command in a folder, with nothing of this process's environment.
fn headwater(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.args(args).current_dir(folder).env_clear();
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    headwater(folder, args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

/// The only skipped entry's reason.
fn skip_reason(output: &Output) -> String {
    let skipped = json(output)["skipped"].clone();
    assert_eq!(skipped.as_array().unwrap().len(), 1, "{skipped}");
    skipped[0]["reason"].as_str().unwrap().to_owned()
}

const CLOCK: &[u8] = b"It is {{ now }}.\nYou are a clerk who answers politely.\n{{ question }}\n";

#[test]
fn the_good_templates_are_clean() {
    let output = run(
        &repository(),
        &[
            "lint",
            "templates/",
            "--fail-on",
            "info",
            "--format",
            "json",
        ],
    );
    assert_eq!(json(&output)["findings"], Value::Array(Vec::new()));
    assert_eq!(code(&output), 0);
    assert_eq!(skip_reason(&output), "left out by templates/headwater.yaml");
}

/// What `templates/lint/expected.yaml` says, a line each.
fn planted() -> Vec<String> {
    let list = fs::read_to_string(repository().join("templates/lint/expected.yaml")).unwrap();
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_planted_fault_is_found_once() {
    let output = run(
        &repository(),
        &["lint", "templates/lint/", "--format", "json"],
    );
    let report = json(&output);
    let mut found: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(line)
        .collect();
    found.sort();
    let mut expected = planted();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(code(&output), 1);
    let files = fs::read_dir(repository().join("templates/lint"))
        .unwrap()
        .count();
    assert_eq!(
        expected.len(),
        files - 1,
        "one fault a file, beside the list itself"
    );
}

/// A finding in one line, its path below the folder of faults.
fn line(finding: &Value) -> String {
    let text = |key: &str| finding[key].as_str().unwrap().to_owned();
    format!(
        "{}:{}:{}: {} {} [{}] {}",
        text("path").strip_prefix("templates/lint/").unwrap(),
        finding["line"],
        finding["column"],
        text("code"),
        text("severity"),
        finding["cost_tokens"],
        text("message")
    )
}

#[test]
fn every_rule_has_a_planted_fault() {
    let rules = json(&run(&repository(), &["rules", "--format", "json"]));
    let planted = planted();
    for rule in rules["rules"].as_array().unwrap() {
        let code = format!(": {} ", rule["code"].as_str().unwrap());
        assert!(planted.iter().any(|line| line.contains(&code)), "{code}");
    }
}

#[test]
fn json_has_exactly_the_promised_keys() {
    let folder = folder(&[("a.j2", CLOCK)]);
    let output = run(folder.path(), &["lint", "a.j2", "--format", "json"]);
    let report = json(&output);
    assert_eq!(report["version"], 1);
    let mut finding = report["findings"][0].clone();
    for free in ["message", "help", "fingerprint", "fix"] {
        finding[free] = Value::Null;
    }
    assert_eq!(
        finding,
        serde_json::json!({
            "rule": "clock-before-static", "code": "HW201", "severity": "error", "path": "a.j2",
            "line": 1, "column": 10, "end_line": 1, "end_column": 13,
            "message": null, "cost_tokens": 10, "help": null, "fingerprint": null, "fix": null,
        })
    );
    let keys: Vec<_> = report.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "findings",
            "notes",
            "skipped",
            "summary",
            "suppressed",
            "version"
        ]
    );
}

#[test]
fn exit_codes() {
    let folder = folder(&[
        ("clean.j2", b"You are a clerk.\n"),
        ("clock.j2", CLOCK),
        (
            "unknown.j2",
            b"You work for {{ brand }}.\nAnswer politely, and be short.\n",
        ),
        ("bad.j2", b"{% if x %}\n"),
    ]);
    let check = |args: &[&str], expected| {
        let args: Vec<_> = ["lint"].iter().chain(args).copied().collect();
        let output = run(folder.path(), &args);
        assert_eq!(
            code(&output),
            expected,
            "{args:?}\n{}{}",
            stdout(&output),
            stderr(&output)
        );
    };
    check(&["clean.j2"], 0);
    check(&["clock.j2"], 1);
    check(&["clock.j2", "--ignore", "HW2"], 0);
    check(&["clock.j2", "--select", "HW1,unsorted-json"], 0);
    check(&["clock.j2", "--select", "no-such-rule"], 2);
    check(&["unknown.j2"], 0);
    check(&["unknown.j2", "--fail-on", "info"], 1);
    check(&["bad.j2"], 2);
    check(&["clean.j2", "missing.j2"], 2);
    check(&["."], 2);
    check(&["--no-such-flag"], 2);
}

#[test]
fn inputs_that_cannot_be_judged_are_named_with_a_place() {
    let deep = format!(
        "{}x{}",
        "{% if a %}".repeat(100_000),
        "{% endif %}".repeat(100_000)
    );
    let brackets = format!("{{{{ {}x{} }}}}", "(".repeat(100_000), ")".repeat(100_000));
    let cases: [(&str, &[u8], &str); 9] = [
        (
            "utf8.j2",
            b"one\nt\xC3\xA9o \xFF",
            "2:5: not UTF-8 (byte 0xFF); save the file as UTF-8",
        ),
        (
            "utf16.txt",
            b"\xFF\xFEa\0",
            "1:1: not UTF-8 (byte 0xFF); save the file as UTF-8 (this looks like UTF-16)",
        ),
        (
            "open.j2",
            b"a\n{{ x",
            "2:1: this tag is never closed; expected `}}`",
        ),
        (
            "if.j2",
            b"a\nb {% if x %}",
            "2:3: `if` is never closed; add `{% endif %}`",
        ),
        (
            "end.j2",
            b"{% for x in y %}{% endif %}{% endfor %}",
            "1:17: `endif` closes nothing here; expected `endfor`",
        ),
        (
            "front.md",
            b"---\nvolatility: {a: often}\n---\n",
            "2:17: expected `static`, `semi_static` or `dynamic`",
        ),
        (
            "deep.j2",
            deep.as_bytes(),
            "1:641: tags nest deeper than 64; flatten the template",
        ),
        (
            "brackets.j2",
            brackets.as_bytes(),
            "1:1: this tag is too deeply nested to be read; split it with `set`",
        ),
        (
            "page.hbs",
            b"{{#each x}}",
            "1:1: `each` is never closed; add `{{/each}}`",
        ),
    ];
    for (name, bytes, reason) in cases {
        let folder = folder(&[(name, bytes)]);
        let output = run(folder.path(), &["lint", name, "--format", "json"]);
        assert_eq!(skip_reason(&output), reason);
        assert_eq!(code(&output), 2, "{name}");
    }
}

#[test]
fn odd_inputs_are_judged() {
    let huge = format!(
        "{}\u{200B}{}\n",
        "word ".repeat(400_000),
        "word ".repeat(10)
    );
    let cases: [(&str, &[u8], &[&str]); 5] = [
        ("empty.j2", b"", &[]),
        ("nul.txt", b"Answer\0 politely.\n", &["HW404"]),
        ("huge.md", huge.as_bytes(), &["HW401", "HW414"]),
        (
            "generation.jinja",
            b"{% generation %}{{ answer }}{% endgeneration %}",
            &[],
        ),
        ("binary.bin", b"\0\xFF", &[]),
    ];
    for (name, bytes, expected) in cases {
        let folder = folder(&[(name, bytes), ("other.j2", b"Be kind.\n")]);
        let output = run(folder.path(), &["lint", ".", "--format", "json"]);
        let report = json(&output);
        let codes: Vec<_> = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["code"].as_str().unwrap())
            .collect();
        assert_eq!(codes, expected, "{name}");
        assert_eq!(code(&output), i32::from(!expected.is_empty()), "{name}");
    }
}

#[test]
fn the_text_report_shows_what_cannot_be_seen() {
    let folder = folder(&[(
        "a.md",
        "Follow the pol\u{200B}icy. \u{202E}東京\u{202C}\n".as_bytes(),
    )]);
    let output = run(folder.path(), &["lint", "a.md"]);
    let expected = "\
error[HW402]: ⟨U+202E⟩ RIGHT-TO-LEFT OVERRIDE (and 1 more) can show the text in another order than the model reads it
 --> a.md:1:21
  |
1 | Follow the pol⟨U+200B⟩icy. ⟨U+202E⟩東京⟨U+202C⟩
  |                            ^^^^^^^^^^^^^^^^^^^^ about 4 tokens at risk
";
    assert!(stdout(&output).contains(expected), "{}", stdout(&output));
    assert!(stdout(&output).ends_with("1 file checked, 2 findings\n"));
}

#[test]
fn colour_only_where_it_is_wanted() {
    let folder = folder(&[("a.j2", CLOCK)]);
    let coloured = |args: &[&str]| stdout(&run(folder.path(), args)).contains('\u{1B}');
    assert!(!coloured(&["lint"]));
    assert!(coloured(&["lint", "--color", "always"]));
    let right_place = stdout(&run(folder.path(), &["lint", "--color", "always"]));
    assert!(right_place.contains("a.j2:1:10"), "{right_place}");
}

#[test]
fn a_config_declares_and_leaves_out() {
    let folder = folder(&[
        (
            "headwater.yaml",
            b"exclude: [drafts/]\nvolatility: {brand: static}\n",
        ),
        (
            "a.j2",
            b"You work for {{ brand }}.\nAnswer politely, and be short.\n",
        ),
        ("drafts/b.j2", CLOCK),
    ]);
    let output = run(
        folder.path(),
        &["lint", "--fail-on", "info", "--format", "json"],
    );
    assert_eq!(code(&output), 0);
    assert_eq!(skip_reason(&output), "left out by headwater.yaml");
    assert_eq!(
        code(&run(folder.path(), &["lint", "drafts"])),
        1,
        "what is named is judged"
    );
    assert_eq!(code(&run(folder.path(), &["lint", "drafts/b.j2"])), 1);
}

#[test]
fn broken_configs_and_rules_are_errors_with_a_place() {
    let folder = folder(&[
        ("config/headwater.yaml", b"exclude: []\nexlude: []\n"),
        ("config/a.j2", b"x"),
        (
            "rules/my-rule.yaml",
            b"id: my-rule\ncode: HW299\nseverity: error\nseverty: error\n",
        ),
        ("kinds/two-kinds.yaml", include_bytes!("two-kinds.yaml")),
        ("regex/two-kinds.yaml", include_bytes!("bad-pattern.yaml")),
        ("a.j2", b"x"),
    ]);
    let check = |args: &[&str], expected: &str| {
        let output = run(folder.path(), args);
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert_eq!(code(&output), 2);
    };
    check(
        &["lint", "config"],
        "config/headwater.yaml:2:1: exlude: unknown field",
    );
    check(
        &["lint", "a.j2", "--rules", "rules"],
        "rules/my-rule.yaml:4:1: severty: unknown field",
    );
    check(
        &["lint", "a.j2", "--rules", "kinds"],
        "kinds/two-kinds.yaml:8:1: match: expected one kind, found several; make two rules",
    );
    check(
        &["lint", "a.j2", "--rules", "regex"],
        "regex/two-kinds.yaml:10:13: `now(` is not a regular expression",
    );
    check(
        &["lint", "a.j2", "--rules", "none"],
        "cannot read the folder of rules none",
    );
}

#[test]
fn standard_input_has_the_name_it_is_given() {
    let mut command = headwater(
        &repository(),
        &["lint", "--stdin-filename", "x/a.md", "--format", "json"],
    );
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(CLOCK).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(json(&output)["findings"][0]["path"], "x/a.md");
    assert_eq!(code(&output), 1);
}

#[test]
fn statistics_count_by_rule() {
    let folder = folder(&[("a.j2", CLOCK), ("b.j2", CLOCK)]);
    let output = run(folder.path(), &["lint", "--statistics"]);
    assert!(stdout(&output).ends_with("    2  HW201 clock-before-static [*]\n"));
}

#[test]
fn the_same_run_gives_the_same_report() {
    let once = run(&repository(), &["lint", "templates/lint"]);
    let twice = run(&repository(), &["lint", "templates/lint"]);
    assert_eq!(once.stdout, twice.stdout);
}

#[test]
fn explain_has_fixed_headings_and_knows_near_names() {
    let output = run(&repository(), &["explain", "HW201"]);
    let text = stdout(&output);
    let headings: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with(' ') && !line.is_empty())
        .collect();
    assert_eq!(
        headings,
        [
            "HW201 clock-before-static (error)",
            "What",
            "Why it costs",
            "Bad",
            "Good",
            "Bad",
            "Good",
            "Fix"
        ]
    );
    assert_eq!(
        text,
        stdout(&run(&repository(), &["explain", "clock-before-static"]))
    );

    let output = run(&repository(), &["explain", "clock-befor-static"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("near are clock-before-static (HW201)"),
        "{}",
        stderr(&output)
    );

    let rules = fs::read_dir(repository().join("lint-rules"))
        .unwrap()
        .count();
    assert_eq!(
        stdout(&run(&repository(), &["explain"])).lines().count(),
        rules
    );
}
