//! Who speaks where in a prompt: the marks that chat formats put between messages.

use headwater_text::Span;

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The application: system and developer messages.
    System,
    /// A tool or function.
    Tool,
    /// Roles that cannot be told.
    Other,
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// `system`, `user`, `assistant`, `tool` or `other`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Tool => "tool",
            Self::Other => "other",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    /// The role that a chat format calls so.
    pub(crate) fn from_name(name: &str) -> Self {
        role(name).unwrap_or(Self::Other)
    }
}

/// A mark between messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoleMark {
    /// The mark itself, in bytes of the text that was searched.
    pub(crate) span: Span,
    /// The message that it begins; none if it only ends one.
    pub(crate) begins: Option<Role>,
}

/// Marks that stand alone.
const FIXED: [(&str, Option<Role>); 17] = [
    ("<|im_end|>", None),
    ("<|eot_id|>", None),
    ("<|eom_id|>", None),
    ("<|end_of_text|>", None),
    ("<|end|>", None),
    ("<end_of_turn>", None),
    ("</s>", None),
    ("<s>", None),
    ("<|begin_of_text|>", None),
    ("<|system|>", Some(Role::System)),
    ("<|user|>", Some(Role::User)),
    ("<|assistant|>", Some(Role::Assistant)),
    ("<|start_of_role|>", None),
    ("[INST]", Some(Role::User)),
    ("[/INST]", Some(Role::Assistant)),
    ("<<SYS>>", Some(Role::System)),
    ("<</SYS>>", Some(Role::User)),
];
/// Marks with the role behind them, and what closes it.
const NAMED: [(&str, &str); 4] = [
    ("<|im_start|>", "\n"),
    ("<|start_header_id|>", "<|end_header_id|>"),
    ("<|start|>", "<|message|>"),
    ("<start_of_turn>", "\n"),
];

/// Every mark of a static text, in order.
pub(crate) fn marks(text: &str) -> Vec<RoleMark> {
    let mut marks = Vec::new();
    let mut at = 0;
    let mut line_start = true;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some((length, begins)) = mark_at(rest, line_start) {
            let span = Span {
                start: at,
                end: at + length,
            };
            marks.push(RoleMark { span, begins });
            line_start = text[..span.end].ends_with('\n');
            at = span.end;
            continue;
        }
        line_start = rest.starts_with('\n');
        at += 1;
        if !line_start {
            // No mark begins before one of these; the bytes of a long character are none of them.
            let ahead = &text.as_bytes()[at..];
            at += memchr::memchr3(b'<', b'[', b'\n', ahead).unwrap_or(ahead.len());
        }
    }
    marks
}

/// Every role of messages that are written as JSON: `"role": "user"`, in order and apart.
pub(crate) fn json_marks(text: &str) -> Vec<RoleMark> {
    let mut marks: Vec<RoleMark> = Vec::new();
    for (start, key) in text.match_indices("\"role\"") {
        // The quote that begins this one may be that of the content before it.
        if marks.last().is_some_and(|mark| start < mark.span.end) {
            continue;
        }
        let behind = text[start + key.len()..].trim_start();
        let Some(value) = behind.strip_prefix(':').map(str::trim_start) else {
            continue;
        };
        let Some((name, rest)) = value
            .strip_prefix('"')
            .and_then(|name| name.split_once('"'))
        else {
            continue;
        };
        // With the key of what is said, which says nothing itself.
        let end = text.len() - behind_content(rest).unwrap_or(rest).len();
        let span = Span { start, end };
        let begins = role(name);
        marks.extend(begins.map(|_| RoleMark { span, begins }));
    }
    marks
}

/// What stands behind `, "content": "`.
fn behind_content(rest: &str) -> Option<&str> {
    let key = rest.trim_start().strip_prefix(',')?.trim_start();
    let value = key.strip_prefix("\"content\"")?.trim_start();
    value.strip_prefix(':')?.trim_start().strip_prefix('"')
}

fn mark_at(rest: &str, line_start: bool) -> Option<(usize, Option<Role>)> {
    if rest.starts_with(['<', '[']) {
        let fixed = FIXED.iter().find(|(mark, _)| rest.starts_with(mark));
        return fixed
            .map(|(mark, role)| (mark.len(), *role))
            .or_else(|| NAMED.iter().find_map(|(mark, end)| named(rest, mark, end)));
    }
    line_start.then(|| line_role(rest)).flatten()
}

fn named(rest: &str, mark: &str, end: &str) -> Option<(usize, Option<Role>)> {
    let behind = rest.strip_prefix(mark)?;
    let word_end = behind
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(behind.len());
    let role = role(&behind[..word_end]).unwrap_or(Role::Other);
    let mut length = mark.len() + word_end;
    if behind[word_end..].starts_with(end) {
        length += end.len();
    }
    Some((length, Some(role)))
}

/// `user:` or `role: user` at the start of a line.
fn line_role(line: &str) -> Option<(usize, Option<Role>)> {
    // Longer words name no role, and most lines begin with none.
    let mut head = line.bytes().take(LONGEST_NAME + 1);
    let colon = head.position(|byte| matches!(byte, b':' | b'\n'))?;
    let (word, behind) = (&line[..colon], line[colon..].strip_prefix(':')?);
    if word == "role" {
        let behind = behind.split('\n').next().unwrap_or_default();
        let role = role(behind.trim())?;
        return Some((colon + 1 + behind.len(), Some(role)));
    }
    Some((word.len() + 1, Some(role(word)?)))
}

/// Bytes of `assistant` and `developer`.
const LONGEST_NAME: usize = 9;

fn role(word: &str) -> Option<Role> {
    if word.len() > LONGEST_NAME {
        return None;
    }
    match word.to_ascii_lowercase().as_str() {
        "user" | "human" => Some(Role::User),
        "assistant" | "model" | "ai" => Some(Role::Assistant),
        "system" | "developer" => Some(Role::System),
        "tool" | "function" | "ipython" => Some(Role::Tool),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Option<Role>)]) {
        let found: Vec<_> = marks(text)
            .into_iter()
            .map(|mark| (&text[mark.span.start..mark.span.end], mark.begins))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn messages_in_json() {
        let text = r#"[{"role": "system", "x": "role"}, {"content": "", "role" :"user"}, {"role": 1}, {"role": "x"}, {"role": "user", "content": "hi"}]"#;
        let found: Vec<_> = json_marks(text)
            .into_iter()
            .map(|mark| (&text[mark.span.start..mark.span.end], mark.begins))
            .collect();
        assert_eq!(
            found,
            [
                (r#""role": "system""#, Some(Role::System)),
                (r#""role" :"user""#, Some(Role::User)),
                (r#""role": "user", "content": ""#, Some(Role::User)),
            ]
        );
    }

    /// As cut text has it: the quote that ends one mark begins the next key.
    #[test]
    fn marks_in_json_do_not_overlap() {
        let text = r#" r{"role": "user", "content": "role": "system", "content": "hi"#;
        let spans: Vec<_> = json_marks(text).iter().map(|mark| mark.span).collect();
        assert_eq!(spans, [Span { start: 3, end: 31 }]);
        assert_eq!(crate::weight::weigh(text, &json_marks(text)).bytes, 33);
    }

    #[test]
    fn chat_formats() {
        use Role::{Assistant, Other, System, User};
        check("no marks: none", &[]);
        check(
            "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>",
            &[
                ("<|im_start|>system\n", Some(System)),
                ("<|im_end|>", None),
                ("<|im_start|>", Some(Other)),
            ],
        );
        check(
            "<|start_header_id|>user<|end_header_id|>",
            &[("<|start_header_id|>user<|end_header_id|>", Some(User))],
        );
        check(
            "[INST] hi [/INST]",
            &[("[INST]", Some(User)), ("[/INST]", Some(Assistant))],
        );
        check(
            "Be kind.\nUser: hi\nAssistant:",
            &[("User:", Some(User)), ("Assistant:", Some(Assistant))],
        );
        check("role: user\nhi", &[("role: user", Some(User))]);
        check("the user: x", &[]);
    }
}
