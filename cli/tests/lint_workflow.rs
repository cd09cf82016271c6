//! The linter in daily use: fixes, configs, baselines, git, other formats. The binary is run.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

const CLOCK: &str = "It is {{ now }}.\nYou are a clerk who answers politely.\n{{ question }}\n";
const MOVED: &str = "You are a clerk who answers politely.\nIt is {{ now }}.\n{{ question }}\n";

fn headwater(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.args(args).current_dir(folder).env_clear();
    // Git is found by it.
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// Runs, and gives the exit code, standard output and standard error.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    parts(&headwater(folder, args).output().unwrap())
}

fn parts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    // What lies above the folder must not count.
    fs::create_dir(folder.path().join(".git")).unwrap();
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Codes and paths of what is found.
fn found(folder: &Path, args: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["lint", "--format", "json"]
        .iter()
        .chain(args)
        .copied()
        .collect();
    let (_, stdout, stderr) = run(folder, &args);
    let report: Value = serde_json::from_str(&stdout).unwrap_or(Value::String(stderr));
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|each| {
            format!(
                "{} {}:{}",
                each["code"].as_str().unwrap(),
                each["path"].as_str().unwrap(),
                each["line"]
            )
        })
        .collect()
}

#[test]
fn safe_fixes_are_written_and_unsafe_ones_wait() {
    let text = CLOCK.replace("clerk", "cl\u{200B}erk");
    let folder = folder(&[("a.j2", &text)]);
    let (code, diff, _) = run(folder.path(), &["lint", "--diff"]);
    assert_eq!(code, 1);
    assert!(diff.starts_with("--- a/a.j2\n+++ b/a.j2\n@@ "), "{diff}");
    assert_eq!(read(folder.path(), "a.j2"), text);
    let (code, _, stderr) = run(folder.path(), &["lint", "--fix"]);
    assert_eq!((code, stderr.as_str()), (1, "1 finding fixed\n"));
    assert_eq!(read(folder.path(), "a.j2"), CLOCK);
    let (code, report, stderr) = run(folder.path(), &["lint", "--unsafe-fixes"]);
    assert_eq!(
        (code, stderr.as_str()),
        (0, "1 finding fixed\n"),
        "{report}"
    );
    assert_eq!(read(folder.path(), "a.j2"), MOVED);
    let (code, diff, _) = run(folder.path(), &["lint", "--diff", "--unsafe-fixes"]);
    assert_eq!((code, diff.as_str()), (0, ""));
}

#[test]
fn fix_only_reports_nothing() {
    let folder = folder(&[("a.j2", CLOCK), ("b.md", "Be pol\u{200B}ite.\n")]);
    let (code, stdout, _) = run(folder.path(), &["lint", "--fix-only"]);
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert_eq!(read(folder.path(), "b.md"), "Be polite.\n");
}

#[test]
fn standard_input_is_fixed_to_standard_output() {
    let folder = folder(&[]);
    let mut command = headwater(folder.path(), &["lint", "--unsafe-fixes", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(CLOCK.as_bytes()).unwrap();
    drop(stdin);
    let (code, stdout, stderr) = parts(&child.wait_with_output().unwrap());
    assert_eq!((code, stdout.as_str()), (0, MOVED));
    assert!(
        stderr.ends_with("1 file checked, no findings\n"),
        "{stderr}"
    );
}

#[cfg(unix)]
#[test]
fn fixes_keep_permissions_and_follow_no_links() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let outside = folder(&[("a.md", "Be pol\u{200B}ite.\n")]);
    let folder = folder(&[("run.md", "Be pol\u{200B}ite.\n")]);
    let run_md = folder.path().join("run.md");
    fs::set_permissions(&run_md, fs::Permissions::from_mode(0o750)).unwrap();
    symlink(outside.path().join("a.md"), folder.path().join("link.md")).unwrap();
    let (code, _, stderr) = run(folder.path(), &["lint", "--fix", "run.md", "link.md"]);
    assert_eq!(code, 1);
    assert!(
        stderr.contains("link.md: not fixed: it is a symbolic link"),
        "{stderr}"
    );
    assert_eq!(read(folder.path(), "run.md"), "Be polite.\n");
    assert_eq!(
        fs::metadata(&run_md).unwrap().permissions().mode() & 0o777,
        0o750
    );
    assert_eq!(read(outside.path(), "a.md"), "Be pol\u{200B}ite.\n");
}

#[test]
fn configs_choose_rules_by_folder_and_file() {
    let config = "\
volatility: {'t_*': dynamic, brand: static}
ignore: [HW401]
overrides:
  - files: ['old/*.j2']
    ignore: [clock-before-static]
";
    let folder = folder(&[
        ("headwater.yaml", config),
        ("a.j2", CLOCK),
        ("old/b.j2", CLOCK),
        (
            "c.j2",
            "{{ t_one }} {{ brand }}\nYou are a clerk who answers politely.\n",
        ),
        ("d.md", "Be pol\u{200B}ite.\n"),
    ]);
    assert_eq!(found(folder.path(), &[]), ["HW201 a.j2:1", "HW101 c.j2:1"]);
    assert_eq!(found(folder.path(), &["--select", "HW1"]), ["HW101 c.j2:1"]);
    assert_eq!(
        found(&folder.path().join("old"), &["b.j2"]),
        Vec::<String>::new()
    );
}

#[test]
fn pyproject_is_a_config_too() {
    let folder = folder(&[
        (
            "pyproject.toml",
            "[project]\nname = \"x\"\n[tool.headwater]\nselect = [\"HW4\"]\nfail-on = \"error\"\n",
        ),
        ("a.j2", CLOCK),
        ("b.md", "Be pol\u{200B}ite.\n"),
    ]);
    assert_eq!(found(folder.path(), &[]), ["HW401 b.md:1"]);
    assert_eq!(run(folder.path(), &["lint"]).0, 0);
    assert_eq!(run(folder.path(), &["lint", "--fail-on", "info"]).0, 1);
}

#[test]
fn mistakes_in_a_config_have_a_place() {
    let check = |name: &str, text: &str, expected: &str| {
        let folder = folder(&[(name, text), ("a.j2", CLOCK)]);
        let (code, _, stderr) = run(folder.path(), &["lint"]);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    };
    check(
        "headwater.yaml",
        "exclude: []\nselct: [HW1]\n",
        "headwater.yaml:2:1: selct: unknown field",
    );
    check(
        "headwater.yaml",
        "fail-on: never\n",
        "headwater.yaml:1:10: fail-on: unknown variant `never`",
    );
    check(
        "headwater.yaml",
        "ignore: [HW99]\n",
        "no rule is called `HW99`",
    );
    check(
        "pyproject.toml",
        "[tool.headwater]\nselct = []\n",
        "pyproject.toml:2:1: unknown field `selct`",
    );
    check(
        "headwater.yaml",
        "rules: [nowhere]\n",
        "cannot read the folder of rules",
    );
    check(
        "headwater.yaml",
        "baseline: none.json\n",
        "--write-baseline makes it",
    );
}

#[test]
fn a_baseline_takes_known_findings_out() {
    let folder = folder(&[("a.j2", CLOCK)]);
    let args = ["lint", "--baseline", "known.json"];
    let (code, _, stderr) = run(folder.path(), &[&args[..], &["--write-baseline"]].concat());
    assert_eq!(
        (code, stderr.as_str()),
        (0, "1 finding written to known.json\n")
    );
    // Lines move, and another fault comes.
    write(
        folder.path(),
        "a.j2",
        &format!("Hello there, and welcome.\n\n{CLOCK}").replace("clerk", "cl\u{200B}erk"),
    );
    let (code, stdout, _) = run(folder.path(), &args);
    assert_eq!(code, 1);
    assert!(
        !stdout.contains("HW201") && stdout.contains("HW401"),
        "{stdout}"
    );
    assert!(stdout.contains("1 finding, 1 in the baseline"), "{stdout}");
    write(
        folder.path(),
        "known.json",
        "{\"version\": 1,\n \"finding\": []}",
    );
    let (code, _, stderr) = run(folder.path(), &args);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("known.json:2:10: unknown field `finding`"),
        "{stderr}"
    );
}

#[test]
fn since_reports_changed_lines_only() {
    let folder = folder(&[("a.j2", CLOCK), ("same.j2", CLOCK)]);
    fs::remove_dir(folder.path().join(".git")).unwrap();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let status = Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !git(&["init", "-q"]) {
        // Without git there is nothing to ask.
        return;
    }
    assert!(git(&["add", "."]) && git(&["commit", "-q", "-m", "one"]));
    assert_eq!(
        found(folder.path(), &["--since", "HEAD"]),
        Vec::<String>::new()
    );
    write(
        folder.path(),
        "a.j2",
        &format!(
            "{CLOCK}Trace {{{{ trace_id }}}} of this request.\nKeep your answers short and kind.\n"
        ),
    );
    write(folder.path(), "new file.j2", CLOCK);
    assert_eq!(
        found(folder.path(), &["--since", "HEAD"]),
        ["HW203 a.j2:4", "HW201 new file.j2:1"]
    );
    let (code, _, stderr) = run(folder.path(), &["lint", "--since", "nowhere"]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("git knows no revision `nowhere`"),
        "{stderr}"
    );
}

#[test]
fn reports_keep_to_their_schemas() {
    let folder = folder(&[
        ("a.j2", &CLOCK.replace("clerk", "cl\u{200B}erk")),
        (
            "b.j2",
            "{# headwater: ignore[HW201] frozen #}\n{{ now }}\nBe kind and short, please.\n",
        ),
        (
            "c.j2",
            "{% include 'nowhere.j2' %}\nBe kind and short, please.\n",
        ),
        ("broken.j2", "{% if x %}"),
        ("d,%:e.j2", CLOCK),
    ]);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas");
    let schema = fs::read_to_string(docs.join("lint-report-v1.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let (_, stdout, _) = run(folder.path(), &["lint", "--format", "json"]);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(report["suppressed"][0]["reason"], "frozen");
    let (_, stdout, _) = run(folder.path(), &["lint", "--format", "sarif"]);
    let sarif: Value = serde_json::from_str(&stdout).unwrap();
    let run_of = &sarif["runs"][0];
    assert_eq!(run_of["columnKind"], "unicodeCodePoints");
    let results = run_of["results"].as_array().unwrap();
    assert!(
        results
            .iter()
            .all(|each| each["partialFingerprints"]["headwaterFinding/v1"].is_string())
    );
    assert!(
        results
            .iter()
            .any(|each| each["suppressions"][0]["justification"] == "frozen")
    );
    let uri = "/locations/0/physicalLocation/artifactLocation/uri";
    assert!(
        results
            .iter()
            .any(|each| each.pointer(uri).unwrap() == "d%2C%25%3Ae.j2")
    );
    let (_, stdout, _) = run(folder.path(), &["lint", "--format", "github"]);
    assert!(
        stdout.contains("::error file=d%2C%25%3Ae.j2,line=1,"),
        "{stdout}"
    );
    for format in ["gitlab", "rdjson"] {
        let (_, stdout, _) = run(folder.path(), &["lint", "--format", format]);
        serde_json::from_str::<Value>(&stdout).unwrap();
    }
}

#[test]
fn the_config_schema_knows_the_same_keys() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas");
    let schema = fs::read_to_string(docs.join("headwater-config.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let keys = |value: &Value| -> Vec<String> {
        let keys = value["properties"].as_object().unwrap().keys();
        keys.map(|key| format!("`{key}`")).collect()
    };
    let check = |yaml: &str, known: Vec<String>| {
        let folder = folder(&[("headwater.yaml", yaml), ("a.j2", CLOCK)]);
        let (_, _, stderr) = run(folder.path(), &["lint"]);
        let listed = stderr.split("expected one of ").nth(1).unwrap().trim();
        let mut listed: Vec<&str> = listed.split(", ").collect();
        listed.sort_unstable();
        assert_eq!(listed, known);
    };
    check("x: 1\n", keys(&schema));
    let over = &schema["properties"]["overrides"]["items"];
    check("overrides: [{x: 1}]\n", keys(over));
}

#[test]
fn lists_of_rules() {
    let folder = folder(&[]);
    let (_, json, _) = run(folder.path(), &["rules", "--format", "json"]);
    let rules: Value = serde_json::from_str(&json).unwrap();
    let (_, page, _) = run(folder.path(), &["rules", "--format", "markdown"]);
    for rule in rules["rules"].as_array().unwrap() {
        assert!(page.contains(rule["code"].as_str().unwrap()), "{rule}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, script, _) = run(folder.path(), &["completions", shell]);
        assert!(code == 0 && script.contains("headwater"), "{shell}");
    }
}

#[test]
fn watching_checks_again() {
    use std::io::{BufRead as _, BufReader};

    let folder = folder(&[("a.j2", CLOCK)]);
    let mut child = headwater(folder.path(), &["lint", "--watch", "--format", "concise"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until_summary = || {
        let mut last = String::new();
        while !last.contains("checked") {
            last = lines.next().unwrap().unwrap();
        }
        last
    };
    assert!(until_summary().contains("1 finding"));
    write(folder.path(), "a.j2", &format!("{MOVED} "));
    let second = until_summary();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(second, "1 file checked, no findings");
}
