//! Makes the fix of a finding; one file per group of kinds.

mod characters;
mod json_keys;
mod newlines;
mod sorting;
mod to_end;

use headwater_template::Template;
use headwater_text::Span;

use crate::{
    fix::{Edit, Fix},
    fix_rule::FixKind,
    rule::Rule,
};

/// The fix for a finding of `rule` at a span of the template, if the place allows one.
pub(crate) fn fix_for(rule: &Rule, template: &Template, span: Span) -> Option<Fix> {
    let fix = rule.fix?;
    let (title, changes) = match fix.kind {
        FixKind::RemoveCharacters | FixKind::ReplaceCharacters => {
            characters::plain(template, span)?
        }
        FixKind::RemoveByteOrderMark => ("delete the byte order mark", vec![Change::delete(span)]),
        FixKind::NormalizeNewlines => newlines::normalize(template),
        FixKind::TrimTrailingSpace => newlines::trim(template),
        FixKind::AddFinalNewline => newlines::add_final(template)?,
        FixKind::NormalizeNfc => characters::compose(template)?,
        FixKind::AddFilterDictsort => sorting::dictsort(template, span)?,
        FixKind::AddSortKeys => sorting::sort_keys(template, span)?,
        FixKind::MoveToEnd => to_end::move_line(template, span)?,
        FixKind::SortJsonKeys => json_keys::sort(template)?,
        // Made where it is known which of a comment's names are in use.
        FixKind::RemoveSuppression => return None,
    };
    let edits: Option<Vec<Edit>> = changes
        .iter()
        .map(|change| change.in_file(template))
        .collect();
    let edits = edits.filter(|edits| !edits.is_empty() && are_in_order(edits))?;
    Some(Fix {
        safety: fix.safety,
        title: title.to_owned(),
        edits,
    })
}

/// A title, and what is to be written where.
type Plan = (&'static str, Vec<Change>);

/// A replacement in the template's own text.
struct Change {
    span: Span,
    with: String,
}

impl Change {
    fn delete(span: Span) -> Self {
        Self::new(span, "")
    }

    fn new(span: Span, with: impl Into<String>) -> Self {
        let with = with.into();
        Self { span, with }
    }

    fn in_file(&self, template: &Template) -> Option<Edit> {
        let source = template.source();
        Some(Edit {
            span: source.in_file(self.span),
            replacement: source.encode(self.span, &self.with)?,
        })
    }
}

fn are_in_order(edits: &[Edit]) -> bool {
    edits
        .windows(2)
        .all(|pair| pair[0].span.end <= pair[1].span.start)
}
