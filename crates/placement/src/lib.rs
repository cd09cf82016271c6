//! Which worker gets a request, and why.
//!
//! ```text
//! events ──observe──►  Fleet { workers, flights, residency }  ◄──place── request
//!                                                                  │
//!   eligible ─► what it asks for ─► what each holds ─► what it costs ─► spill? ─► Decision + Reason
//! ```
//!
//! Two functions on one type. [`Fleet::observe`] learns and chooses nothing; [`Fleet::place`]
//! chooses and changes nothing. A router calls them around each request, a simulator in virtual
//! time, and both get the same answers.
//!
//! # What it will never do
//! No I/O, no clock, no dice, no threads, no metrics, and no hash map whose order could leak into
//! a decision. Time is an argument; reasons are returned and counted by the caller. It reads no
//! header and no body: it sees names of prefixes and a key, and trusts neither beyond a warm
//! cache.
//!
//! # A whole life
//! ```
//! use headwater_placement::{
//!     At, Event, Fleet, Generation, KeySource, Reason, Report, Request, RequestId, Settings,
//!     WorkerId, WorkerState,
//! };
//! use headwater_signature::{BlockSize, Rung, Scheme, Signature};
//!
//! // Two workers join and are found healthy.
//! let mut fleet = Fleet::new(Settings::default())?;
//! let start = At::from_micros(0);
//! for name in ["north", "south"] {
//!     let worker = WorkerId::of(name);
//!     fleet.observe(start, &Event::Joined { worker, name, weight: 1.0 });
//!     fleet.observe(start, &Event::State { worker, state: WorkerState::Ready });
//! }
//!
//! // A client names two prefixes of its prompt of 4,100 tokens.
//! let block = BlockSize::new(16).ok_or("a block has tokens")?;
//! let seed = Scheme {
//!     tokenizer: "bytes",
//!     template: "support",
//!     cleaning: "1",
//!     block,
//!     add_special_tokens: false,
//!     model: "m",
//!     salt: None,
//! }
//! .seed();
//! let mut chain = seed.chain();
//! chain.extend(&(0..4_100).collect::<Vec<u32>>());
//! let rung = |blocks: u32| Rung { blocks, hash: chain.hashes()[blocks as usize - 1] };
//! let rungs = [rung(64), rung(256)];
//! let signature = Signature::new(block, 4_100, seed.fingerprint(), &rungs, None)?;
//! let request = Request {
//!     signature: Some(&signature),
//!     affinity: Some(0x5eed),
//!     key_source: KeySource::Affinity,
//!     body_bytes: None,
//!     excluded: &[],
//! };
//!
//! // Nobody holds it: it goes to the home of its key, which is the same in every router.
//! let cold = fleet.place(start, &request)?;
//! assert_eq!(cold.reason, Reason::Home);
//! let home = cold.worker;
//!
//! // From the moment it is sent there, whatever shares a prefix follows it.
//! let first = RequestId(1);
//! fleet.observe(start, &Event::Dispatched { worker: home, request: first, of: &request });
//! let warm = fleet.place(start, &request)?;
//! assert_eq!((warm.worker, warm.reason, warm.matched_tokens), (home, Reason::Resident, 4_096));
//! assert_eq!(fleet.candidates(start, &request).len(), 2, "the other one is for failover");
//! fleet.observe(start, &Event::FirstByte { worker: home, request: first });
//! fleet.observe(start, &Event::Finished { worker: home, request: first });
//!
//! // The worker restarts, so its cache is empty.
//! let generation = Generation::default().after_restart();
//! fleet.observe(start, &Event::Generation { worker: home, generation });
//! assert_eq!(fleet.place(start, &request)?.matched_tokens, 0);
//!
//! // Its engine says that the cache is nearly full: nothing new goes there,
//! let later = At::from_micros(2_000_000);
//! let report = |kv_use| Report { kv_use: Some(kv_use), ..Report::default() };
//! fleet.observe(later, &Event::Reported { worker: home, report: report(0.91) });
//! let spilled = fleet.place(later, &request)?;
//! assert_eq!(spilled.reason, Reason::SpillHot);
//! assert_ne!(spilled.worker, home);
//!
//! // not even at 0.70, until it is down to the low mark.
//! let later = At::from_micros(3_000_000);
//! fleet.observe(later, &Event::Reported { worker: home, report: report(0.70) });
//! assert_eq!(fleet.place(later, &request)?.reason, Reason::SpillHot);
//! fleet.observe(later, &Event::Reported { worker: home, report: report(0.65) });
//! assert_eq!(fleet.place(later, &request)?.worker, home);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Holding back
//! What an engine has in its own queue can be neither ordered nor moved. So a busy worker gets
//! only as much prefill as it can chew; the caller keeps the rest and asks whose turn it is after
//! every event, and at [`Fleet::next_release_at`]. A request that hits overtakes one that misses.
//! ```
//! # use headwater_placement::*;
//! # use headwater_signature::{BlockSize, Fingerprint, Signature};
//! # let (mut fleet, at) = (Fleet::new(Settings::default())?, At::from_micros(0));
//! # let (worker, name, weight) = (WorkerId::of("north"), "north", 1.0);
//! # fleet.observe(at, &Event::Joined { worker, name, weight });
//! # fleet.observe(at, &Event::State { worker, state: WorkerState::Ready });
//! # let block = BlockSize::new(16).ok_or("a block has tokens")?;
//! # let long = Signature::new(block, 50_000, Fingerprint::from_bytes([0; 8]), &[], None)?;
//! # let of = &Request { signature: Some(&long), ..Request::ANONYMOUS };
//! // Two long prompts for one worker: the first is sent, the second waits at the caller.
//! for request in [RequestId(1), RequestId(2)] {
//!     let decision = fleet.place(at, of)?;
//!     let worker = decision.worker;
//!     match decision.handover {
//!         Handover::Now => fleet.observe(at, &Event::Dispatched { worker, request, of }),
//!         Handover::Wait => fleet.observe(at, &Event::Held { worker, request, of }),
//!     }
//! }
//! assert_eq!((fleet.held(), fleet.release(at)), (1, None));
//!
//! // The first prompt has been prefilled. Follow what is released until nothing is: wake the
//! // task that has the request, which sends it to the worker named (not always the first one).
//! fleet.observe(at, &Event::FirstByte { worker, request: RequestId(1) });
//! while let Some(Release { request, decision, .. }) = fleet.release(at) {
//!     fleet.observe(at, &Event::Dispatched { worker: decision.worker, request, of });
//!     assert_eq!(request, RequestId(2));
//! }
//! // Whoever leaves while waiting is `Event::Abandoned`, and nothing was lost.
//! assert_eq!(fleet.held(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//! `fleet.rs` holds the decision, `learn.rs` what each event teaches. A decision reads a request
//! once (`sought.rs`), asks the table (`residency.rs`) what each worker holds (`belief.rs`), looks
//! at all of them side by side (`survey.rs`, `board.rs`, `gauge.rs`), and takes the cheapest unless it is too
//! full or too hot (`spill.rs`); near ties go where every router would send them
//! (`rendezvous.rs`). `hold.rs` orders what waits. Every number is in [`Settings`].

// In reading order: the two functions,
mod fleet;

mod learn;

// what goes in and out,
mod echo;
mod event;

mod request;

mod reason;

mod settings;

// the steps of a decision,
mod sought;

mod survey;

mod belief;

mod cost;

mod rendezvous;

mod spill;

mod ring;

// what waits for its turn,
mod hold;

mod backlog;

mod homecoming;

// and what is remembered.
mod crew;

mod crowd;

mod miss;

mod memory;

mod board;

mod gauge;

mod worker;

mod rate;

mod turnover;

mod watermark;

mod late;

mod habit;

mod demand;

mod flight;

mod residency;

mod name;

mod recency;

mod view;

mod id;

pub use cost::PrefillModel;
pub use event::{Event, PrefixName, Report, WorkerState};
pub use fleet::Fleet;
pub use id::{At, Generation, RequestId, WorkerId};
pub use reason::{Decision, Handover, NoWorker, Reason, Release};
pub use request::{KeySource, Request};
pub use settings::{Order, Policy, Settings, SettingsError};
pub use view::WorkerView;
