//! Which runs of characters are numbers. Their value is never computed.

/// RFC 8259, section 6: `-`? integer fraction? exponent?
pub(super) fn is_number(run: &str) -> bool {
    let run = run.strip_prefix('-').unwrap_or(run);
    let (integer, rest) = digits(run);
    if integer.is_empty() || (integer.len() > 1 && integer.starts_with('0')) {
        return false;
    }
    let rest = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => match digits(fraction) {
            ("", _) => return false,
            (_, rest) => rest,
        },
    };
    rest.is_empty() || is_exponent(rest)
}

fn is_exponent(text: &str) -> bool {
    let Some(signed) = text.strip_prefix(['e', 'E']) else {
        return false;
    };
    let (exponent, rest) = digits(signed.strip_prefix(['+', '-']).unwrap_or(signed));
    !exponent.is_empty() && rest.is_empty()
}

/// The digits at the start, and what follows them.
fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// The spellings that Python, JavaScript and their relatives print.
pub(super) fn is_not_finite(run: &str) -> bool {
    let word = run.strip_prefix(['-', '+']).unwrap_or(run);
    ["nan", "inf", "infinity"]
        .iter()
        .any(|name| word.eq_ignore_ascii_case(name))
}
