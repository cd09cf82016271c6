//! Placeholder.
#[test]
fn t() {}
