//! Cache markers of a request: where they stand, how many there are, how long they keep.

use std::sync::LazyLock;

use headwater_template::{ApiKind, Marker, MarkerPlace, PieceKind, Role, Template};
use headwater_text::Span;
use regex::Regex;

use crate::{
    finding::Finding,
    matcher::{MarkerFault, Matcher},
    pattern::own,
    rule::Rule,
};

/// More of them in one request are an error at the provider.
const MAX_MARKERS: usize = 4;
/// Content blocks before a marker in which a stored prefix is found.
const LOOKBACK_BLOCKS: usize = 20;
/// A prompt shorter than any provider's minimum needs no marker.
const MIN_BYTES: usize = 1024 * 4;

/// Times and identifiers, which are other ones in the next request.
static MOMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    own(
        r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
    )
});

/// Findings of all rules about markers.
pub(crate) fn find(rules: &[Rule], template: &Template) -> Vec<Finding> {
    let mut findings = Vec::new();
    if template.parts().is_empty() && template.markers().is_empty() {
        return findings;
    }
    for rule in rules {
        let Matcher::Marker(fault) = &rule.matcher else {
            continue;
        };
        if let Some((at, cost, detail)) = judge(*fault, template) {
            let finding = match at {
                Place::Marker(marker) => Finding::at_file(rule, template, marker.in_file, cost),
                Place::Start => {
                    let start = template.parts().first().map_or(0, |part| part.span.start);
                    Finding::new(rule, template, Span { start, end: start }, cost)
                }
            };
            findings.push(finding.with("detail", &detail));
        }
    }
    findings
}

enum Place<'t> {
    Marker(&'t Marker),
    Start,
}

type Judged<'t> = Option<(Place<'t>, usize, String)>;

fn judge(fault: MarkerFault, template: &Template) -> Judged<'_> {
    let markers = template.markers();
    let bytes_before = |marker: &Marker| {
        let all = template.static_bytes_from(0);
        all - template.static_bytes_from(marker.at).min(all)
    };
    match fault {
        MarkerFault::TooMany => {
            let extra = markers.get(MAX_MARKERS)?;
            Some((Place::Marker(extra), 0, markers.len().to_string()))
        }
        MarkerFault::TtlUnknown => {
            let odd = markers.iter().find(|marker| ttl(marker).is_none())?;
            let written = odd.ttl.clone().unwrap_or_default();
            Some((Place::Marker(odd), 0, written))
        }
        MarkerFault::TtlOrder => {
            let mut shortest = u32::MAX;
            let late = markers.iter().find(|marker| {
                let own = ttl(marker).unwrap_or(shortest);
                let is_late = own > shortest;
                shortest = shortest.min(own);
                is_late
            })?;
            Some((Place::Marker(late), 0, late.ttl.clone().unwrap_or_default()))
        }
        MarkerFault::Volatile => volatile(template)
            .map(|(marker, found)| (Place::Marker(marker), bytes_before(marker), found)),
        MarkerFault::Missing => {
            let needs = matches!(template.api()?, ApiKind::Anthropic | ApiKind::Bedrock);
            let bytes = template.static_bytes_from(0);
            let missing = needs && markers.is_empty() && bytes >= MIN_BYTES;
            missing.then(|| (Place::Start, bytes, String::new()))
        }
        MarkerFault::InLastTurnOnly => {
            let first = markers.first()?;
            let part = template.parts().get(first.part?)?;
            let last_message = template
                .parts()
                .iter()
                .filter_map(|part| part.message)
                .max();
            // A growing conversation marks its end; a single question does not come again.
            let is_last = part.role == Role::User && part.message == last_message;
            let is_single = last_message.is_some_and(|last| last <= 1);
            let bytes = bytes_before(first);
            (is_last && is_single && bytes > 0 && markers.len() == 1)
                .then(|| (Place::Marker(first), bytes, String::new()))
        }
        MarkerFault::Repeated => {
            let mut pairs = markers.windows(2);
            let is_repeated = |pair: &&[Marker]| {
                let on_block = pair.iter().all(|marker| marker.place == MarkerPlace::Block);
                on_block && pair[0].at == pair[1].at && pair[0].part == pair[1].part
            };
            let pair = pairs.find(is_repeated)?;
            Some((Place::Marker(&pair[1]), 0, String::new()))
        }
        MarkerFault::ListStart => placed(markers, MarkerPlace::ListStart),
        MarkerFault::ToolResult => placed(markers, MarkerPlace::ToolResult),
        MarkerFault::Lookback => lookback(template).map(|(marker, blocks)| {
            (
                Place::Marker(marker),
                bytes_before(marker),
                blocks.to_string(),
            )
        }),
    }
}

fn placed(markers: &[Marker], place: MarkerPlace) -> Judged<'_> {
    let mut markers = markers.iter();
    let found = markers.find(|marker| marker.place == place)?;
    Some((Place::Marker(found), 0, String::new()))
}

/// Seconds that a marker keeps its prefix; none if the provider knows no such time.
fn ttl(marker: &Marker) -> Option<u32> {
    match marker.ttl.as_deref() {
        None | Some("5m") => Some(300),
        Some("30m") => Some(1800),
        Some("1h") => Some(3600),
        Some("24h") => Some(86400),
        Some(_) => None,
    }
}

/// A marker whose own block holds what changes in every request, and the thing.
fn volatile(template: &Template) -> Option<(&Marker, String)> {
    let moment = MOMENT.as_ref()?;
    template.markers().iter().find_map(|marker| {
        let part = template.parts().get(marker.part?)?;
        let text = template.source().slice(part.span);
        if let Some(found) = moment.find(text) {
            return Some((marker, found.as_str().to_owned()));
        }
        let inside = |span: Span| part.span.start <= span.start && span.end <= part.span.end;
        let value = template
            .pieces()
            .iter()
            .find(|piece| matches!(piece.kind, PieceKind::Value(_)) && inside(piece.span))?;
        Some((marker, template.source().slice(value.span).to_owned()))
    })
}

/// A marker with more blocks before it than are looked through, and no other marker among them.
fn lookback(template: &Template) -> Option<(&Marker, usize)> {
    let mut from = 0;
    for (index, marker) in template.markers().iter().enumerate() {
        let at = marker.part?;
        let blocks = at.saturating_sub(from);
        if index > 0 && blocks > LOOKBACK_BLOCKS {
            return Some((marker, blocks));
        }
        from = at;
    }
    None
}
