//! A session of an editor with the language server, over the real binary.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

struct Editor {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next_id: i64,
}

impl Editor {
    fn new(folder: &Path) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_headwater"))
            .args(["lsp", "--stdio"])
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = server.stdin.take().unwrap();
        let from = BufReader::new(server.stdout.take().unwrap());
        let mut editor = Self {
            server,
            to,
            from,
            next_id: 0,
        };
        let answer = editor.request("initialize", json!({"capabilities": {}}));
        assert_eq!(answer["capabilities"]["hoverProvider"], true);
        editor.notify("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.to.flush().unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).unwrap();
            match line.trim() {
                "" => break,
                header => {
                    if let Some(number) = header.strip_prefix("Content-Length: ") {
                        length = number.parse().unwrap();
                    }
                }
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    fn diagnostics(&mut self) -> Value {
        let message = self.receive();
        assert_eq!(
            message["method"], "textDocument/publishDiagnostics",
            "{message}"
        );
        message["params"].clone()
    }
}

fn range(line: u32, start: u32, end: u32) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

#[test]
fn a_session() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join("headwater.yaml"), "ignore: [HW104]\n").unwrap();
    let uri = format!("file://{}/a%20b.j2", folder.path().display());
    let mut editor = Editor::new(folder.path());

    // The emoji takes two UTF-16 units.
    let text = "\u{1F600} {{ now }} pol\u{200B}ite.\nYou are a clerk who answers politely.\n";
    editor.notify(
        "textDocument/didOpen",
        json!({"textDocument": {"uri": uri, "languageId": "jinja", "version": 1, "text": text}}),
    );
    let shown = editor.diagnostics();
    assert_eq!((&shown["uri"], &shown["version"]), (&json!(uri), &json!(1)));
    let all = shown["diagnostics"].as_array().unwrap();
    let of = |code: &str| {
        all.iter()
            .find(|each| each["code"] == code)
            .unwrap()
            .clone()
    };
    assert_eq!(of("HW201")["range"], range(0, 6, 9));
    assert_eq!(of("HW201")["severity"], 1);
    assert_eq!(of("HW401")["range"], range(0, 16, 17));

    let document = json!({"uri": uri});
    let hover = editor.request(
        "textDocument/hover",
        json!({"textDocument": document, "position": {"line": 0, "character": 7}}),
    );
    assert!(
        hover["contents"]["value"]
            .as_str()
            .unwrap()
            .contains("HW201 clock-before-static")
    );

    let actions = editor.request(
        "textDocument/codeAction",
        json!({"textDocument": document, "range": range(0, 16, 16), "context": {"diagnostics": []}}),
    );
    let edit = &actions[0]["edit"]["changes"][&uri];
    assert_eq!(*edit, json!([{"range": range(0, 16, 17), "newText": ""}]));
    assert_eq!(actions[0]["isPreferred"], true);
    let all = actions.as_array().unwrap().last().unwrap();
    assert_eq!(all["kind"], "source.fixAll");
    let fixed = text.replace('\u{200B}', "");
    assert_eq!(all["edit"]["changes"][&uri][0]["newText"], fixed);

    editor.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "{% if x %}\n"}]}),
    );
    let broken = editor.diagnostics();
    assert_eq!(broken["diagnostics"][0]["range"], range(0, 0, 0));
    assert!(
        broken["diagnostics"][0]["message"]
            .as_str()
            .unwrap()
            .contains("never closed")
    );

    // A broken config is said, and the session goes on.
    fs::write(folder.path().join("headwater.yaml"), "ignor: [HW104]\n").unwrap();
    editor.notify("textDocument/didSave", json!({"textDocument": document}));
    let said = editor.receive();
    assert_eq!(said["method"], "window/showMessage");
    assert!(
        said["params"]["message"]
            .as_str()
            .unwrap()
            .contains("headwater.yaml:1:1")
    );

    // What a finding is about besides is shown where it stands.
    fs::write(folder.path().join("headwater.yaml"), "").unwrap();
    let line = "You are a clerk who answers every question politely, with few words and without any jokes.";
    editor.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": format!("{line}\n\n{line}\n")}]}),
    );
    let twice = editor.diagnostics()["diagnostics"][0].clone();
    assert_eq!(twice["range"]["start"]["line"], 2, "{twice}");
    let first = &twice["relatedInformation"][0];
    assert_eq!(first["location"]["uri"], json!(uri), "{twice}");
    assert_eq!(first["location"]["range"], range(0, 0, 90), "{twice}");

    editor.notify("textDocument/didClose", json!({"textDocument": document}));
    assert_eq!(editor.diagnostics()["diagnostics"], json!([]));
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    assert!(editor.server.wait().unwrap().success());
}
