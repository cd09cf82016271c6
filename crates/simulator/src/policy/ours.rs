//! Headwater: `headwater-placement` itself, fed as the router process feeds it.
//!
//! What a client would send is made here: a signature with rungs by the SDK's rule, an affinity key
//! for the conversation, and the echo of its last answer where clients return it.

use std::collections::BTreeMap;

use headwater_placement::{
    At, Decision, Event, Fleet, Generation, Handover, KeySource, Report, Request, RequestId,
    Settings, SettingsError, WorkerId, WorkerState,
};
use headwater_signature::{
    BlockSize, Fingerprint, PrefixHash, RouteEcho, RouteTag, Rung, Signature,
};

use super::{News, Policy, Route, Standing, Verdict};
use crate::dice::{mix, mix_two};
use crate::rungs::{self, Naming};
use crate::view::View;

/// How a simulated client names prefixes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers change some and take the rest"
)]
pub struct HeadwaterOptions {
    /// Names in a header at most; 1 to 16.
    pub rungs: usize,
    /// Which prefixes get a name.
    pub naming: Naming,
    /// Whether routers learn from answers how much was cached.
    pub corrections: Corrections,
}

/// Whether routers learn from answers how much of a prompt was cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "two, by design")]
pub enum Corrections {
    /// They do not: the answer is not read.
    None,
    /// They do, with the first token.
    CachedTokens,
}

impl Default for HeadwaterOptions {
    fn default() -> Self {
        Self {
            rungs: 12,
            naming: Naming::Borders,
            corrections: Corrections::None,
        }
    }
}

/// One Headwater router.
pub struct Headwater {
    fleet: Fleet,
    options: HeadwaterOptions,
    names: Vec<String>,
    numbers: BTreeMap<WorkerId, usize>,
    /// Requests that wait here.
    held: Vec<RequestId>,
}

impl Headwater {
    /// A router with an empty memory.
    ///
    /// # Errors
    /// Placement refuses the settings.
    pub fn new(settings: Settings, options: HeadwaterOptions) -> Result<Self, SettingsError> {
        let fleet = Fleet::new(settings)?;
        Ok(Self {
            fleet,
            options,
            names: Vec::new(),
            numbers: BTreeMap::new(),
            held: Vec::new(),
        })
    }

    fn to(&self, decision: &Decision) -> Option<Route> {
        let worker = self.numbers.get(&decision.worker).copied()?;
        Some(Route::warm(
            worker,
            decision.matched_tokens,
            decision.reason.as_str(),
        ))
    }

    fn id(&self, worker: usize) -> WorkerId {
        self.names
            .get(worker)
            .map_or_else(|| WorkerId::of(""), |name| WorkerId::of(name))
    }

    fn know(&mut self, at: At, worker: usize) {
        while self.names.len() <= worker {
            let name = format!("worker-{}", self.names.len());
            let id = WorkerId::of(&name);
            self.fleet.observe(
                at,
                &Event::Joined {
                    worker: id,
                    name: &name,
                    weight: 1.0,
                },
            );
            self.numbers.insert(id, self.names.len());
            self.names.push(name);
        }
    }

    fn stand(&mut self, at: At, worker: usize, standing: Standing, life: u64) {
        self.know(at, worker);
        let id = self.id(worker);
        let state = match standing {
            Standing::Ready => WorkerState::Ready,
            Standing::Draining => WorkerState::Draining,
            Standing::Down => WorkerState::Down,
        };
        self.fleet.observe(
            at,
            &Event::Generation {
                worker: id,
                generation: Generation::started(life),
            },
        );
        self.fleet.observe(at, &Event::State { worker: id, state });
    }

    /// The signature that the request's client would send.
    fn signature(&self, view: &View<'_>, request: usize) -> Option<Signature> {
        let path = view.path(request);
        let limit = u32::try_from(path.len()).unwrap_or(u32::MAX);
        let blocks = rungs::choose(
            view.borders(request),
            limit,
            self.options.rungs,
            self.options.naming,
        );
        let rungs: Vec<Rung> = blocks
            .into_iter()
            .filter_map(|blocks| {
                let node = path.get(blocks as usize - 1)?;
                let hash = PrefixHash::from_bytes(mix(u64::from(node.0)).to_le_bytes());
                Some(Rung { blocks, hash })
            })
            .collect();
        let echo = view.echo(request).and_then(|echo| {
            let name = self.names.get(echo.worker)?;
            Some(RouteEcho {
                tag: RouteTag::of(name, echo.life),
                tokens: echo.tokens,
            })
        });
        let block = BlockSize::new(view.block_tokens())?;
        let tokens = view.call(request).input_tokens;
        Signature::new(block, tokens, Fingerprint::from_bytes([0; 8]), &rungs, echo).ok()
    }
}

impl Policy for Headwater {
    fn route(&mut self, view: &View<'_>, request: usize) -> Verdict {
        let at = at(view.now_ms());
        let signature = self.signature(view, request);
        let asked = Request {
            signature: signature.as_ref(),
            affinity: Some(mix_two(0xaff1, u64::from(view.call(request).session))),
            key_source: KeySource::Affinity,
            body_bytes: None,
            excluded: &[],
        };
        let Ok(decision) = self.fleet.place(at, &asked) else {
            return Verdict::Nobody;
        };
        let (worker, request, of) = (decision.worker, RequestId(request as u64), &asked);
        match decision.handover {
            Handover::Now => {
                self.fleet.observe(
                    at,
                    &Event::Dispatched {
                        worker,
                        request,
                        of,
                    },
                );
                self.to(&decision).into()
            }
            Handover::Wait => {
                self.fleet.observe(
                    at,
                    &Event::Held {
                        worker,
                        request,
                        of,
                    },
                );
                self.held.push(request);
                Verdict::Hold
            }
        }
    }

    fn release(&mut self, view: &View<'_>) -> Option<(usize, Route)> {
        let at = at(view.now_ms());
        let release = self.fleet.release(at)?;
        let (worker, request) = (release.decision.worker, release.request);
        let number = usize::try_from(request.0).ok()?;
        let signature = self.signature(view, number);
        let of = &Request {
            signature: signature.as_ref(),
            affinity: Some(mix_two(0xaff1, u64::from(view.call(number).session))),
            key_source: KeySource::Affinity,
            body_bytes: None,
            excluded: &[],
        };
        self.fleet.observe(
            at,
            &Event::Dispatched {
                worker,
                request,
                of,
            },
        );
        self.held.retain(|held| *held != request);
        self.to(&release.decision).map(|route| (number, route))
    }

    fn next_release_ms(&self) -> Option<f64> {
        let at = self.fleet.next_release_at()?;
        Some(at.micros() as f64 / 1_000.0)
    }

    fn stranded(&mut self, view: &View<'_>) -> Option<usize> {
        let request = self.fleet.stranded()?;
        let abandoned = Event::Abandoned { request };
        self.fleet.observe(at(view.now_ms()), &abandoned);
        self.held.retain(|held| *held != request);
        usize::try_from(request.0).ok()
    }

    fn give_back(&mut self) -> Vec<usize> {
        let held = std::mem::take(&mut self.held);
        held.iter()
            .filter_map(|request| usize::try_from(request.0).ok())
            .collect()
    }

    fn hear(&mut self, view: &View<'_>, news: &News) {
        let at = at(view.now_ms());
        match *news {
            News::Worker {
                worker,
                standing,
                life,
            } => self.stand(at, worker, standing, life),
            News::FirstToken {
                worker,
                request,
                hit_tokens: tokens,
            } => {
                let (worker, request) = (self.id(worker), RequestId(request as u64));
                if self.options.corrections == Corrections::CachedTokens {
                    self.fleet.observe(
                        at,
                        &Event::Cached {
                            worker,
                            request,
                            tokens,
                        },
                    );
                }
                self.fleet
                    .observe(at, &Event::FirstByte { worker, request });
            }
            News::Finished { worker, request } => {
                let (worker, request) = (self.id(worker), RequestId(request as u64));
                self.fleet.observe(at, &Event::Finished { worker, request });
            }
            News::Failed { worker, request } => {
                let (worker, request) = (self.id(worker), RequestId(request as u64));
                self.fleet.observe(at, &Event::Failed { worker, request });
            }
            News::Reported { worker, report } => {
                let worker = self.id(worker);
                let report = Report {
                    running: report.load.map(|(running, _)| running),
                    waiting: report.load.map(|(_, waiting)| waiting),
                    kv_use: report.kv_use,
                    pending_tokens: report.pending_tokens,
                    computed_tokens: report.computed_tokens,
                    cache_tokens: Some(report.cache_tokens),
                };
                self.fleet.observe(at, &Event::Reported { worker, report });
            }
        }
    }
}

fn at(now_ms: f64) -> At {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "never negative; `as` saturates"
    )]
    let micros = (now_ms * 1_000.0) as u64;
    At::from_micros(micros)
}
