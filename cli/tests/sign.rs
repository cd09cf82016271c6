//! `headwater sign`, run as a person would: good prompts, bad prompts, and what curl gets.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

#[path = "../../crates/prompt/tests/support/tiny.rs"]
mod tiny;

const CHAT: &str = "\
segments:
  - volatility: static
    role: system
    name: rules
    text: |
      You answer questions of ferry passengers, briefly and politely. 
      Never promise a seat.
  - volatility: dynamic
    role: user
    text: When does the ferry leave?
";

/// A folder with `p.yaml` in it.
fn folder(prompt: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    write(&folder, "p.yaml", prompt);
    folder
}

fn write(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) {
    std::fs::write(folder.path().join(name), content).unwrap();
}

/// `headwater sign …` in a folder, with nothing of our environment.
fn sign(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command
        .current_dir(folder)
        .env_clear()
        .arg("sign")
        .args(args);
    command
}

fn run(folder: &TempDir, args: &[&str]) -> Output {
    sign(folder.path(), args).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::str::from_utf8(&output.stdout).unwrap()
}

fn json(folder: &TempDir, args: &[&str]) -> serde_json::Value {
    let args = [args, &["--format", "json"]].concat();
    serde_json::from_str(stdout(&run(folder, &args))).unwrap()
}

/// The prompt fails with exit code 2, nothing on stdout, and an error that starts like this.
#[track_caller]
fn fails(folder: &TempDir, args: &[&str], expected: &str) {
    let output = run(folder, args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty());
    assert!(error.starts_with(&format!("error: {expected}")), "{error}");
}

#[test]
fn the_report_has_text_counts_changes_and_headers() {
    let report = run(&folder(CHAT), &["p.yaml"]);
    assert_eq!(
        stdout(&report),
        "\
prompt     p.yaml, 2 messages, 192 bytes
tokenizer  bytes/4le/1
tokens     48: 3 whole blocks of 16 and 0 more
segments      tokens     bytes   changes
                  22        86         1  segment 0 `rules` (system, static)
                   6        26         0  segment 1 (user, dynamic)
borders       tokens    stable   aligned
                  26        26        16  static end
                  29        29        16  turn 0
                  42        42        32  turn 1
rungs         blocks    tokens
                   1        16  9d7b0fc0f2422c82  static end, turn 0
                   2        32  b7684db54caba116  turn 1
reusable   16 tokens by the same template, 16 by the same tenant, 32 by the next turn
cleaning   1 change
  segment 0, 1:64: trailing_space: remove ⟨U+0020⟩
---- text ----
<|im_start|>system
You answer questions of ferry passengers, briefly and politely.
Never promise a seat.
<|im_end|>
<|im_start|>user
When does the ferry leave?<|im_end|>
<|im_start|>assistant
---- end of text ----

Prefix-Signature: v=1, b=16, n=48, fp=:iyGmBYf1SYw=:, r=(1;h=:nXsPwPJCLII=: 2;h=:t2hNtUyroRY=:)
Prefix-Affinity: 1G_RFmT_YXCy9uYx
"
    );
}

#[test]
fn json_has_everything_once() {
    let folder = folder(CHAT);
    let signed = json(&folder, &["p.yaml"]);
    let keys: Vec<&str> = signed
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected = [
        "text",
        "messages",
        "tokens",
        "blocks",
        "block_size",
        "tokenizer",
        "fingerprint",
        "segments",
        "borders",
        "rungs",
        "reuse",
        "paddings",
        "risks",
        "changes",
        "warnings",
        "headers",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(
        signed["messages"][1]["content"],
        "When does the ferry leave?"
    );
    assert_eq!(
        signed["changes"][0],
        serde_json::json!({"segment": 0, "line": 1, "column": 64, "step": "trailing_space",
            "action": "remove", "code_point": "U+0020"})
    );
    assert!(
        signed["headers"]["Prefix-Signature"]
            .as_str()
            .unwrap()
            .starts_with("v=1, b=16, n=48, fp=:")
    );
    assert_eq!(
        signed["headers"]["Prefix-Affinity"].as_str().unwrap().len(),
        16
    );
}

#[test]
fn the_same_prompt_gives_the_same_bytes() {
    let folder = folder(CHAT);
    for format in ["text", "json", "curl"] {
        let args = ["p.yaml", "--format", format];
        assert_eq!(stdout(&run(&folder, &args)), stdout(&run(&folder, &args)));
    }
}

#[test]
fn output_is_the_text_to_the_byte() {
    let folder = folder(CHAT);
    let report = run(&folder, &["p.yaml", "--output", "out.txt"]);
    assert!(stdout(&report).contains("text       written to out.txt\n"));
    assert!(!stdout(&report).contains("im_start"));
    let written = std::fs::read_to_string(folder.path().join("out.txt")).unwrap();
    assert_eq!(json(&folder, &["p.yaml"])["text"], written);
    fails(
        &folder,
        &["p.yaml", "--output", "no/out.txt"],
        "cannot write the text to `no/out.txt`: ",
    );
}

/// What the help promises: xargs hands every header to curl as one argument.
#[cfg(unix)]
#[test]
fn curl_lines_go_through_xargs_and_eval() {
    let folder = folder(CHAT);
    let lines = stdout(&run(&folder, &["p.yaml", "--format", "curl"])).to_owned();
    let headers = &json(&folder, &["p.yaml"])["headers"];
    let expected = format!(
        "-H\nPrefix-Signature: {}\n-H\nPrefix-Affinity: {}\n",
        headers["Prefix-Signature"].as_str().unwrap(),
        headers["Prefix-Affinity"].as_str().unwrap()
    );
    std::fs::write(folder.path().join("lines"), &lines).unwrap();
    for script in [
        r"xargs printf '%s\n' < lines",
        r"eval printf \'%s\\n\' $(cat lines)",
    ] {
        let output = Command::new("sh")
            .current_dir(folder.path())
            .args(["-c", script])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{script}"
        );
    }
}

#[test]
fn json_prompts_and_standard_input_are_read() {
    let folder = folder(CHAT);
    let prompt =
        r#"{"segments": [{"volatility": "dynamic", "text": "hi \ud83d\ude42"}], "model": "m"}"#;
    write(&folder, "p.json", prompt);
    let from_file = json(&folder, &["p.json"]);
    assert_eq!(from_file["text"], "hi 🙂");
    let mut child = sign(folder.path(), &["-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), prompt.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(stdout(&output)).unwrap(),
        from_file
    );
}

#[test]
fn a_session_and_a_route_show_in_the_headers() {
    let folder = folder(&format!("session: abc\n{CHAT}"));
    let header = |args: &[&str], name: &str| {
        json(&folder, &[&["p.yaml"], args].concat())["headers"][name]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let of_file = header(&[], "Prefix-Affinity");
    assert_eq!(header(&["--session", "abc"], "Prefix-Affinity"), of_file);
    assert_ne!(header(&["--session", "xyz"], "Prefix-Affinity"), of_file);
    assert_eq!(
        header(&["--affinity", "session"], "Prefix-Affinity"),
        of_file
    );
    assert_ne!(
        header(&["--affinity", "static"], "Prefix-Affinity"),
        of_file
    );
    let route = [
        "--route",
        "w=:AQIDBA==:, matched=32, reason=home",
        "--route-tokens",
        "50",
    ];
    assert!(header(&route, "Prefix-Signature").ends_with(", w=:AQIDBA==:, wn=50"));
}

#[test]
fn a_salt_changes_the_names_and_is_never_shown() {
    let secret = "correct-horse-battery-staple";
    let folder = folder(&format!("salt_env: TENANT_SALT\n{CHAT}"));
    fails(
        &folder,
        &["p.yaml"],
        "the environment variable `TENANT_SALT` that `salt_env` names is not set; ",
    );
    let output = sign(folder.path(), &["p.yaml"])
        .env("TENANT_SALT", secret)
        .output()
        .unwrap();
    let plain = run(&self::folder(CHAT), &["p.yaml"]);
    let header = |output: &Output| {
        stdout(output)
            .lines()
            .find(|line| line.starts_with("Prefix-Sig"))
            .unwrap()
            .to_owned()
    };
    assert_ne!(header(&output), header(&plain));
    let all = [output.stdout, output.stderr].concat();
    assert!(!String::from_utf8(all).unwrap().contains("horse"));
}

#[test]
fn a_tokenizer_file_counts_its_own_tokens() {
    let folder = folder(CHAT);
    write(&folder, "tokenizer.json", tiny::tokenizer_json());
    let with = |args: &[&str]| {
        json(
            &folder,
            &[&["p.yaml", "--tokenizer", "tokenizer.json"], args].concat(),
        )
    };
    let plain = with(&[]);
    assert!(
        plain["tokenizer"]
            .as_str()
            .unwrap()
            .starts_with("hf/1 tokenizers=")
    );
    assert_ne!(plain["tokens"], 48);
    let more = with(&["--add-special-tokens"])["tokens"].as_u64().unwrap();
    assert_eq!(more, plain["tokens"].as_u64().unwrap() + 2);
    write(&folder, "broken.json", "{}");
    fails(
        &folder,
        &["p.yaml", "--tokenizer", "broken.json"],
        "`broken.json` is not a tokenizer: ",
    );
    fails(
        &folder,
        &["p.yaml", "--tokenizer", "none.json"],
        "cannot read the tokenizer file `none.json`; ",
    );
}

#[test]
fn text_files_are_read_from_the_prompts_own_folder() {
    let folder = folder("segments: [{volatility: static, file: sub/rules.md}]\n");
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    write(&folder, "sub/rules.md", "Be brief.\n");
    assert_eq!(json(&folder, &["p.yaml"])["text"], "Be brief.\n");
    write(&folder, "sub/rules.md", "Be\nbr\u{202E}ief.\n");
    fails(
        &folder,
        &["p.yaml"],
        "./sub/rules.md:2:3: segment 0 (static): U+202E ",
    );
    write(&folder, "sub/rules.md", b"Be\nbr\xFFief.\n");
    fails(
        &folder,
        &["p.yaml"],
        "./sub/rules.md:2:3: not UTF-8 from here on; ",
    );
    let outside = "is not inside the folder of the prompt file; ";
    for file in ["../p.yaml", "/etc/hostname"] {
        write(
            &folder,
            "sub/q.yaml",
            format!("segments:\n  - {{volatility: static, file: {file}}}\n"),
        );
        fails(
            &folder,
            &["sub/q.yaml"],
            &format!("sub/q.yaml:2:32: segments[0].file: `{file}` {outside}"),
        );
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../p.yaml", folder.path().join("sub/link.md")).unwrap();
        write(
            &folder,
            "sub/q.yaml",
            "segments:\n  - {volatility: static, file: link.md}\n",
        );
        fails(
            &folder,
            &["sub/q.yaml"],
            &format!("sub/q.yaml:2:32: segments[0].file: `link.md` {outside}"),
        );
    }
}

#[test]
fn bad_prompt_files_are_explained_with_their_place() {
    let check = |prompt: &str, expected: &str| fails(&folder(prompt), &["p.yaml"], expected);
    check("segments: [", "p.yaml:");
    check("", "p.yaml");
    check(
        "segments: []\n",
        "p.yaml:1:11: segments: the prompt has no segments; add at least one",
    );
    check(
        "segments:\n  - {volatility: static, text: a}\ntemperature: 1\n",
        "p.yaml:3:1: unknown field `temperature`",
    );
    check(
        "segments:\n  - {volatility: static, tekst: a}\n",
        "p.yaml:2:26: segments[0]: unknown field `tekst`",
    );
    check(
        "segments:\n  - {volatility: sometimes, text: a}\n",
        "p.yaml:2:18: segments[0].volatility: unknown name `sometimes`, expected `static`",
    );
    check(
        "segments:\n  - {volatility: static, role: robot, text: a}\n",
        "p.yaml:2:32: segments[0].role: unknown name `robot`, expected `system`",
    );
    check(
        "segments:\n  - {volatility: static}\n",
        "p.yaml:2:5: segments[0]: has no text; ",
    );
    check(
        "segments:\n  - {volatility: static, text: a, file: b}\n",
        "p.yaml:2:41: segments[0].file: has both `text` and `file`; ",
    );
    check(
        "segments:\n  - {volatility: static, file: none.md}\n",
        "p.yaml:2:32: segments[0].file: `none.md` cannot be read: ",
    );
    check(
        "segments:\n  - {volatility: dynamic, text: a, name: now}\n  - {volatility: static, text: b}\n",
        "p.yaml:3:18: segments[1].volatility: segment 1 (static) stands behind segment 0 `now` (dynamic), which changes more often; ",
    );
    check(
        "segments:\n  - {volatility: static, text: a}\n  - {volatility: static, role: user, text: b}\n",
        "p.yaml:3:32: segments[1].role: segment 0 (static) has no role, but segment 1 (user, static) has one; ",
    );
    check(
        "segments:\n  - volatility: static\n    text: \"a\\nb\\u202Ec\"\n",
        "p.yaml:3:11: segments[0].text: line 2, column 2 of the text: U+202E ",
    );
}

#[test]
fn unreadable_prompt_files_are_named() {
    let folder = folder(CHAT);
    fails(
        &folder,
        &["none.yaml"],
        "cannot read `none.yaml`; give the path of a prompt file, or -: ",
    );
    fails(&folder, &["."], "cannot read `.`");
    write(&folder, "bad.yaml", b"segments:\n  - \xFF\n");
    fails(
        &folder,
        &["bad.yaml"],
        "bad.yaml:2:5: not UTF-8 from here on; save the file as UTF-8",
    );
    write(
        &folder,
        "bad.json",
        "{\"segments\": [{\"volatility\": \"static\", \"txt\": 1}]}",
    );
    fails(
        &folder,
        &["bad.json"],
        "bad.json:1:44: segments[0].txt: unknown field `txt`, expected ",
    );
}

#[test]
fn bad_arguments_are_refused() {
    let folder = folder(CHAT);
    fails(
        &folder,
        &["p.yaml", "--block", "0"],
        "invalid value '0' for '--block <N>': expected 1 to 65536 tokens",
    );
    fails(
        &folder,
        &["p.yaml", "--affinity", "spread:0"],
        "invalid value 'spread:0' for '--affinity <MODE>': ",
    );
    fails(
        &folder,
        &["p.yaml", "--route", "w=1", "--route-tokens", "5"],
        "invalid value 'w=1' for '--route <VALUE>': byte ",
    );
    fails(
        &folder,
        &["p.yaml", "--route", "w=:AQIDBA==:, matched=32, reason=home"],
        "the following required arguments",
    );
}

#[test]
fn the_example_prompts_are_clean() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates/prompts");
    let mut checked = 0;
    for entry in std::fs::read_dir(&examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let output = sign(&examples, &[path.to_str().unwrap(), "--format", "json"])
            .output()
            .unwrap();
        let signed: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
        assert_eq!(
            signed["changes"],
            serde_json::json!([]),
            "{}",
            path.display()
        );
        assert_eq!(
            signed["warnings"],
            serde_json::json!([]),
            "{}",
            path.display()
        );
        assert!(signed["blocks"].as_u64().unwrap() > 2, "{}", path.display());
        checked += 1;
    }
    assert!(checked > 1);
}
