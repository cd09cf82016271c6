//! Fixes as an editor offers them.

use std::collections::HashMap;

use headwater_lint::{Finding, Fix, Safety, Span};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, TextEdit, Uri, WorkspaceEdit,
};

use super::{document::Document, place::Place};

/// A quick fix for each finding in the range, and one action that applies all safe fixes.
pub(super) fn of(document: &Document, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let place = Place::new(&document.text);
    let (start, end) = (
        place.offset(params.range.start),
        place.offset(params.range.end),
    );
    let is_wanted = |kind: &CodeActionKind| {
        let only = params.context.only.as_ref();
        only.is_none_or(|only| {
            only.iter()
                .any(|each| kind.as_str().starts_with(each.as_str()))
        })
    };
    let uri = &params.text_document.uri;
    let mut actions = Vec::new();
    if is_wanted(&CodeActionKind::QUICKFIX) {
        let near = |finding: &&Finding| finding.span.start <= end && start <= finding.span.end;
        for finding in document.findings().iter().filter(near) {
            let fix = finding.fix.as_ref();
            actions.extend(fix.map(|fix| quick_fix(uri, &place, finding, fix)));
        }
    }
    if is_wanted(&CodeActionKind::SOURCE_FIX_ALL)
        && let Some(text) = document.repaired()
    {
        let whole = Span::new(0, document.text.len());
        let edit = TextEdit::new(place.range(whole), text);
        actions.push(action(
            "Headwater: apply all safe fixes".to_owned(),
            CodeActionKind::SOURCE_FIX_ALL,
            workspace_edit(uri, vec![edit]),
        ));
    }
    actions
        .into_iter()
        .map(CodeActionOrCommand::CodeAction)
        .collect()
}

fn quick_fix(uri: &Uri, place: &Place<'_>, finding: &Finding, fix: &Fix) -> CodeAction {
    let doubt = match fix.safety {
        Safety::Safe => "",
        Safety::Unsafe => ", to be looked at",
    };
    let edits = fix
        .edits
        .iter()
        .map(|edit| TextEdit::new(place.range(edit.span), edit.replacement.clone()));
    let mut action = action(
        format!("Headwater: {} ({}{doubt})", fix.title, finding.code),
        CodeActionKind::QUICKFIX,
        workspace_edit(uri, edits.collect()),
    );
    action.is_preferred = Some(fix.safety == Safety::Safe);
    action
}

fn action(title: String, kind: CodeActionKind, edit: WorkspaceEdit) -> CodeAction {
    CodeAction {
        title,
        kind: Some(kind),
        edit: Some(edit),
        ..CodeAction::default()
    }
}

fn workspace_edit(uri: &Uri, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit::new(HashMap::from([(uri.clone(), edits)]))
}
