//! `/explain`: where a request with these headers would go, and what each worker would cost.
//! Nothing is changed and nothing is counted.

use headwater_placement::{NoWorker, Request, WorkerId};
use headwater_signature::Signature;
use hyper::StatusCode;
use hyper::http::request;
use serde::Serialize;

use crate::admin_answer::{self, Answer, Refusal};
use crate::counters::Counters;
use crate::fault::Fault;
use crate::key::Key;
use crate::roster::Roster;
use crate::shared::Shared;

#[derive(Serialize)]
struct Explained {
    /// Whose workers it is for, by its headers; the path is the admin port's own.
    pool: String,
    /// What the request would be placed by. The body's head is not known here.
    key: &'static str,
    /// Why a signature was ignored, if one was.
    signature_error: Option<&'static str>,
    prompt_tokens: Option<u32>,
    rungs: Vec<NamedPrefix>,
    /// Where it would go; nothing if nobody can get it.
    worker: Option<String>,
    reason: &'static str,
    matched_tokens: u32,
    /// Every worker that could get it, as the request prefers them.
    candidates: Vec<Candidate>,
}

#[derive(Serialize)]
struct NamedPrefix {
    hash: String,
    tokens: u64,
}

#[derive(Serialize)]
struct Candidate {
    worker: String,
    matched_tokens: u32,
    /// Milliseconds to the first byte there, as far as the model knows.
    expected_ms: f64,
    in_flight: u32,
    hot: bool,
}

/// The answer for the request that these headers would be of.
pub(crate) fn answer(shared: &Shared, head: &request::Parts) -> Answer {
    let Some(pool) = shared.pool_of(head) else {
        let fault = Fault::NoPool;
        let text = fault.message().to_owned();
        return Refusal::new(fault.status(), fault.as_str(), text).into_answer();
    };
    let scratch = Counters::default();
    let key = Key::of_headers(&head.headers, &shared.session_headers, &scratch);
    let request = key.request(&[]);
    let at = shared.now();
    let roster = shared.roster(pool);
    let found = roster.would_place(at, &request);
    let mut explained = Explained {
        pool: shared
            .pools()
            .get(pool.0)
            .map_or_else(String::new, |pool| pool.name.clone()),
        key: key.source().as_str(),
        signature_error: scratch.signature_errors.all().into_keys().next(),
        prompt_tokens: request.signature.map(Signature::tokens),
        rungs: request.signature.map(rungs).unwrap_or_default(),
        worker: None,
        reason: "",
        matched_tokens: 0,
        candidates: Vec::new(),
    };
    match found {
        Ok(decision) => {
            explained.worker = name(&roster, decision.worker);
            explained.reason = decision.reason.as_str();
            explained.matched_tokens = decision.matched_tokens;
            let ids = roster.candidates(at, &request);
            explained.candidates = candidates(shared, &roster, &request, &ids);
        }
        Err(why) => explained.reason = NoWorker::as_str(why),
    }
    drop(roster);
    admin_answer::json(StatusCode::OK, &explained)
}

fn rungs(signature: &Signature) -> Vec<NamedPrefix> {
    let block = u64::from(signature.block().get());
    let named = |rung: &headwater_signature::Rung| NamedPrefix {
        hash: rung.hash.to_string(),
        tokens: u64::from(rung.blocks) * block,
    };
    signature.rungs().iter().map(named).collect()
}

/// Asks about each worker as if it were the only one.
fn candidates(
    shared: &Shared,
    roster: &Roster,
    request: &Request<'_>,
    ids: &[WorkerId],
) -> Vec<Candidate> {
    let at = shared.now();
    let alone = |id: &WorkerId| {
        let others: Vec<WorkerId> = ids.iter().copied().filter(|other| other != id).collect();
        let only = Request {
            excluded: &others,
            ..*request
        };
        let decision = roster.would_place(at, &only).ok()?;
        let (_, view) = roster.views().find(|(_, view)| view.id == *id)?;
        Some(Candidate {
            worker: view.name,
            matched_tokens: decision.matched_tokens,
            expected_ms: decision.expected_ms,
            in_flight: view.in_flight,
            hot: view.hot,
        })
    };
    ids.iter().filter_map(alone).collect()
}

fn name(roster: &Roster, id: WorkerId) -> Option<String> {
    let (_, view) = roster.views().find(|(_, view)| view.id == id)?;
    Some(view.name)
}
