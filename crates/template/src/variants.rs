//! How many different prefixes the conditions of a template make.

use std::collections::BTreeSet;

use crate::{
    flow::{Flow, Laid},
    piece::PieceKind,
};

/// Counts the texts that conditions can make of what stands ahead of static text, and notes for each
/// branch how many ways it has.
///
/// Branches on the same names are taken together: they fork once. A loop's conditions depend on its
/// items, which are values.
pub(crate) fn count(laid: &mut [Laid], flow: &[Flow]) -> u64 {
    sequence(laid, flow, &mut BTreeSet::new())
}

fn sequence(laid: &mut [Laid], flow: &[Flow], seen: &mut BTreeSet<String>) -> u64 {
    let mut product = 1_u64;
    for step in flow {
        if let Flow::Ways(ways) = step {
            product = product.saturating_mul(branch(laid, ways, seen));
        }
    }
    product
}

fn branch(
    laid: &mut [Laid],
    ways: &[(Option<usize>, Vec<Flow>)],
    seen: &mut BTreeSet<String>,
) -> u64 {
    let Some(first) = ways.iter().find_map(|(condition, _)| *condition) else {
        // One way: its conditions are constant.
        return ways
            .iter()
            .map(|(_, body)| sequence(laid, body, seen))
            .max()
            .unwrap_or(1);
    };
    let has_else = ways.iter().any(|(condition, _)| condition.is_none());
    laid[first].piece.ways = ways.len() + usize::from(!has_else);
    let forks = laid[first].piece.precedes_prose();
    let is_new = seen.insert(key(laid, ways));
    let inside: Vec<u64> = ways
        .iter()
        .map(|(_, body)| sequence(laid, body, seen))
        .collect();
    if !forks || !is_new {
        return inside.into_iter().max().unwrap_or(1);
    }
    let sum = inside.into_iter().fold(0, u64::saturating_add);
    sum.saturating_add(u64::from(!has_else))
}

fn key(laid: &[Laid], ways: &[(Option<usize>, Vec<Flow>)]) -> String {
    let mut key = String::new();
    for index in ways.iter().filter_map(|(condition, _)| *condition) {
        if let PieceKind::Condition(condition) = &laid[index].piece.kind {
            for atom in &condition.atoms {
                key.push_str(&atom.path);
                key.push(' ');
            }
        }
        key.push(';');
    }
    key
}
