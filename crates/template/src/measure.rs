//! How much static text follows each piece, who speaks in it, and which pieces belong to the last turn.

use crate::{
    flow::{Flow, Laid},
    piece::{Piece, PieceKind},
    role::Role,
    variants,
    weight::Weight,
};

/// Which static text a provider can cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cached {
    /// All of it.
    Everything,
    /// What stands before the last marker.
    UpToLastMarker,
}

/// The pieces, with what depends on the whole filled in, and how many variants there are.
pub(crate) fn measure(mut laid: Vec<Laid>, flow: &[Flow], cached: Cached) -> (Vec<Piece>, u64) {
    if cached == Cached::UpToLastMarker {
        let is_marker = |laid: &Laid| matches!(laid.piece.kind, PieceKind::Marker(_));
        let last = laid.iter().rposition(is_marker).unwrap_or(laid.len());
        for laid in laid.iter_mut().skip(last) {
            laid.weight = Weight::default();
        }
    }
    follow(&mut laid, flow, Weight::default());
    name_speakers(&mut laid);
    mark_last_turn(&mut laid);
    let variants = variants::count(&mut laid, flow);
    (laid.into_iter().map(|laid| laid.piece).collect(), variants)
}

/// Goes backwards through a sequence that `after` follows; gives what is in it.
fn follow(laid: &mut [Laid], flow: &[Flow], after: Weight) -> Weight {
    let mut within = Weight::default();
    for step in flow.iter().rev() {
        let behind = after.and(within);
        let weight = match step {
            Flow::Piece(index) => {
                set(&mut laid[*index].piece, Weight::default(), behind);
                laid[*index].weight
            }
            Flow::Loop(index, body) => {
                let inside = follow(laid, body, behind);
                set(&mut laid[*index].piece, inside, behind);
                inside
            }
            Flow::Ways(ways) => {
                let longest = ways
                    .iter()
                    .map(|(_, body)| follow(laid, body, behind))
                    .fold(Weight::default(), Weight::longer);
                for index in ways.iter().filter_map(|(condition, _)| *condition) {
                    set(&mut laid[index].piece, longest, behind);
                }
                longest
            }
        };
        within = within.and(weight);
    }
    within
}

fn set(piece: &mut Piece, inside: Weight, behind: Weight) {
    piece.static_bytes_within = inside.bytes;
    piece.static_bytes_after = behind.bytes;
    piece.prose_bytes_after = behind.prose;
}

/// Names who speaks where a piece ends.
fn name_speakers(laid: &mut [Laid]) {
    let mut role = None;
    for laid in laid {
        role = laid.roles().last().or(role);
        laid.piece.role = role;
    }
}

/// Marks the values from the last user mark on, if only the model's empty turn comes after it.
fn mark_last_turn(laid: &mut [Laid]) {
    let speakers: Vec<(usize, Role)> = laid
        .iter()
        .enumerate()
        .flat_map(|(index, laid)| laid.roles().map(move |role| (index, role)))
        .collect();
    let Some(last) = speakers.iter().rposition(|(_, role)| *role == Role::User) else {
        return;
    };
    let after = &speakers[last + 1..];
    if after.iter().any(|(_, role)| *role != Role::Assistant) {
        return;
    }
    // Values behind the model's mark: the marks were an example's, and the prompt goes on.
    let model = after.first().map_or(laid.len(), |(index, _)| *index);
    if laid.iter().skip(model).any(|laid| laid.piece.is_value()) {
        return;
    }
    for laid in laid.iter_mut().skip(speakers[last].0 + 1) {
        laid.piece.in_last_turn = true;
    }
}
