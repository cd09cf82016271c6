//! Placeholder.
#[test] fn t() {}
