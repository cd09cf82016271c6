//! Placement from outside: one story for each reason, what events do, and the laws.

mod laws;
mod life;
mod reasons;
mod world;
