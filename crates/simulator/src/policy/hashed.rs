//! Consistent hashing without any look at load: by session, by system prompt, as vLLM's router does.
//!
//! By session and by system prompt: a ring of 100 points a worker, as nginx (`hash … consistent`
//! has 160) and Envoy do with one header. The system prompt is the first segment of the prompt.
//! vLLM's router (`vllm-project/router`, `src/policies`, consistent_hash): a ring of 160 points
//! keyed by the session header; a key whose worker is unhealthy goes to the first healthy worker.

use super::ring::Ring;
use super::{Policy, Route, Verdict};
use crate::view::View;

/// What is hashed.
pub(super) enum Key {
    Session,
    System,
}

/// Who gets the keys of a worker that is not ready.
pub(super) enum Displaced {
    NextOnRing,
    FirstReady,
}

pub(super) struct Hashed {
    ring: Ring,
    key: Key,
    displaced: Displaced,
}

impl Hashed {
    pub(super) fn by_session() -> Self {
        Self {
            ring: Ring::new(100),
            key: Key::Session,
            displaced: Displaced::NextOnRing,
        }
    }

    pub(super) fn by_system_prompt() -> Self {
        Self {
            ring: Ring::new(100),
            key: Key::System,
            displaced: Displaced::NextOnRing,
        }
    }

    pub(super) fn of_vllm() -> Self {
        Self {
            ring: Ring::new(160),
            key: Key::Session,
            displaced: Displaced::FirstReady,
        }
    }
}

impl Policy for Hashed {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        let key = match self.key {
            Key::Session => session(view, request),
            Key::System => system(view, request),
        };
        let chosen = match self.displaced {
            Displaced::NextOnRing => self.ring.from(key, view).next(),
            Displaced::FirstReady => {
                let home = self.ring.home(key, view);
                home.filter(|home| view.is_ready(*home))
                    .or_else(|| view.ready().next().map(|(w, _)| w))
            }
        };
        chosen.map(|worker| Route::cold(worker, "home")).into()
    }
}

pub(super) fn session(view: &View<'_>, request: usize) -> u64 {
    u64::from(view.call(request).session)
}

/// The end of the first segment; of a prompt without segments, its first block.
pub(super) fn system(view: &View<'_>, request: usize) -> u64 {
    let blocks = view.borders(request).first().copied().unwrap_or(1).max(1);
    let node = view.path(request).get(blocks as usize - 1);
    node.map_or(session(view, request), |node| u64::from(node.0))
}
