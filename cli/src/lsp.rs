//! `headwater lsp`: findings, fixes and explanations in an editor, over standard input and output.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use headwater_lint::{Checked, Finding, Linter, Outcome, RuleSet};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProviderCapability,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, Hover, HoverContents, HoverParams, HoverProviderCapability,
    MarkupContent, MarkupKind, PublishDiagnosticsParams, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::{document::Document, place::Place};
use crate::lint::{Settings, load_rules, settings::Choice};

mod actions;
mod diagnostics;
mod document;
mod place;

/// Arguments of `headwater lsp`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder of rules beside the built-in ones; may be given several times
    #[arg(long, value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// Editors pass this; it is the only way in which the server speaks
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Serves until the editor says that it leaves.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let of_run = Settings::of_run(&[PathBuf::from(".")])?;
    let folders = of_run.rules.iter().chain(&args.rules);
    let rules = load_rules(folders.map(PathBuf::as_path))?;
    let (connection, threads) = Connection::stdio();
    let (id, _) = connection
        .initialize_start()
        .context("the editor did not introduce itself")?;
    let answer = json!({
        "capabilities": capabilities(),
        "serverInfo": {"name": "headwater", "version": env!("CARGO_PKG_VERSION")},
    });
    connection
        .initialize_finish(id, answer)
        .context("the editor left")?;
    let mut server = Server {
        rules,
        documents: BTreeMap::new(),
        connection: &connection,
    };
    server.serve()?;
    drop(connection);
    threads.join().context("cannot speak to the editor")?;
    Ok(ExitCode::SUCCESS)
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![
                CodeActionKind::QUICKFIX,
                CodeActionKind::SOURCE_FIX_ALL,
            ]),
            ..CodeActionOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        ..ServerCapabilities::default()
    }
}

struct Server<'c> {
    rules: RuleSet,
    /// Open documents, by the text of their URI.
    documents: BTreeMap<String, Document>,
    connection: &'c Connection,
}

impl Server<'_> {
    fn serve(&mut self) -> anyhow::Result<()> {
        while let Ok(message) = self.connection.receiver.recv() {
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    let answer = self.answer(request);
                    self.send(Message::Response(answer))?;
                }
                Message::Notification(notification) => self.hear(notification)?,
                Message::Response(_) => {}
            }
        }
        Ok(())
    }

    fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        let result = match request.method.as_str() {
            "textDocument/codeAction" => self.code_actions(request.params),
            "textDocument/hover" => self.hover(request.params),
            method => {
                let words = format!("`{method}` is not served");
                return Response::new_err(id, ErrorCode::MethodNotFound as i32, words);
            }
        };
        match result {
            Ok(value) => Response::new_ok(id, value),
            Err(error) => {
                Response::new_err(id, ErrorCode::InvalidParams as i32, format!("{error:#}"))
            }
        }
    }

    fn hear(&mut self, notification: Notification) -> anyhow::Result<()> {
        let params = notification.params;
        let result = match notification.method.as_str() {
            "textDocument/didOpen" => self.opened(params),
            "textDocument/didChange" => self.changed(params),
            "textDocument/didSave" => self.saved(params),
            "textDocument/didClose" => self.closed(params),
            _ => Ok(()),
        };
        // A broken config or message must not end the session.
        match result {
            Err(error) => self.notify(
                "window/showMessage",
                &json!({"type": 1, "message": format!("headwater: {error:#}")}),
            ),
            Ok(()) => Ok(()),
        }
    }

    fn opened(&mut self, params: Value) -> anyhow::Result<()> {
        let params: DidOpenTextDocumentParams = read(params)?;
        let opened = params.text_document;
        let document = Document {
            path: document::path(opened.uri.as_str(), &opened.language_id),
            version: opened.version,
            text: opened.text,
            checked: None,
        };
        let key = opened.uri.as_str().to_owned();
        self.documents.insert(key, document);
        self.check(opened.uri)
    }

    fn changed(&mut self, params: Value) -> anyhow::Result<()> {
        let params: DidChangeTextDocumentParams = read(params)?;
        let uri = params.text_document.uri;
        let Some(document) = self.documents.get_mut(uri.as_str()) else {
            return Ok(());
        };
        document.version = params.text_document.version;
        // The server asks for whole texts.
        if let Some(change) = params.content_changes.into_iter().next_back() {
            document.text = change.text;
        }
        self.check(uri)
    }

    fn saved(&mut self, params: Value) -> anyhow::Result<()> {
        let params: DidSaveTextDocumentParams = read(params)?;
        self.check(params.text_document.uri)
    }

    fn closed(&mut self, params: Value) -> anyhow::Result<()> {
        let params: DidCloseTextDocumentParams = read(params)?;
        let uri = params.text_document.uri;
        self.documents.remove(uri.as_str());
        self.publish(PublishDiagnosticsParams::new(uri, Vec::new(), None))
    }

    /// Judges a document and publishes what is found. Configs are read anew: one may have been saved.
    fn check(&mut self, uri: Uri) -> anyhow::Result<()> {
        let Some(document) = self.documents.get_mut(uri.as_str()) else {
            return Ok(());
        };
        let linter = Linter::new(self.rules.clone());
        let mut settings = Settings::new(linter, Choice::default())?;
        let settings = settings.of_file(&document.path)?;
        let checked = document.judge(&settings);
        let place = Place::new(&document.text);
        let diagnostics = diagnostics::of(&checked, &place, &self.rules, &uri);
        document.checked = match checked {
            Checked::Judged(outcome) => Some((outcome, settings)),
            _ => None,
        };
        let version = Some(document.version);
        self.publish(PublishDiagnosticsParams::new(uri, diagnostics, version))
    }

    fn code_actions(&self, params: Value) -> anyhow::Result<Value> {
        let params: CodeActionParams = read(params)?;
        let document = self.documents.get(params.text_document.uri.as_str());
        let actions = document.map(|document| actions::of(document, &params));
        serde_json::to_value(actions).context("cannot write the actions")
    }

    fn hover(&self, params: Value) -> anyhow::Result<Value> {
        let params: HoverParams = read(params)?;
        let at = params.text_document_position_params;
        let Some(document) = self.documents.get(at.text_document.uri.as_str()) else {
            return Ok(Value::Null);
        };
        let place = Place::new(&document.text);
        let offset = place.offset(at.position);
        let findings = document.findings().iter();
        let here: Vec<&Finding> = findings
            .filter(|finding| finding.span.start <= offset && offset <= finding.span.end)
            .collect();
        let Some(first) = here.first() else {
            return Ok(Value::Null);
        };
        let pages = here.iter().filter_map(|finding| {
            let rule = self.rules.find(&finding.rule).ok()?;
            let page = headwater_lint::rule_markdown(rule);
            Some(format!("**{} {}**\n\n{page}", rule.code, rule.id))
        });
        let hover = Hover {
            contents: HoverContents::Markup(MarkupContent {
                kind: MarkupKind::Markdown,
                value: pages.collect::<Vec<_>>().join("\n---\n\n"),
            }),
            range: Some(place.range(first.span)),
        };
        serde_json::to_value(hover).context("cannot write the explanation")
    }

    fn publish(&self, params: PublishDiagnosticsParams) -> anyhow::Result<()> {
        let params = serde_json::to_value(params).context("cannot write the findings")?;
        self.notify("textDocument/publishDiagnostics", &params)
    }

    fn notify(&self, method: &str, params: &Value) -> anyhow::Result<()> {
        self.send(Message::Notification(Notification::new(
            method.to_owned(),
            params,
        )))
    }

    fn send(&self, message: Message) -> anyhow::Result<()> {
        self.connection
            .sender
            .send(message)
            .context("the editor left")
    }
}

fn read<T: DeserializeOwned>(params: Value) -> anyhow::Result<T> {
    serde_json::from_value(params).context("this message has another form than it may have")
}

impl Document {
    /// What was found in the text as it is now.
    fn findings(&self) -> &[Finding] {
        let outcome: Option<&Outcome> = self.checked.as_ref().map(|(outcome, _)| outcome);
        outcome.map_or(&[], |outcome| &outcome.findings)
    }
}
