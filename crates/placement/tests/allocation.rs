//! A decision touches no heap, for as many workers as are looked at in place.
#![expect(clippy::unwrap_used, reason = "a test may stop at a surprise")]

use std::hint::black_box;

use headwater_placement::{
    At, Event, Fleet, Handover, KeySource, Request, RequestId, Settings, WorkerId, WorkerState,
};
use headwater_signature::{BlockSize, Fingerprint, PrefixHash, Rung, Signature};

const NOW: At = At::from_micros(1);

#[test]
fn a_decision_allocates_nothing() {
    for workers in [1, 32, 256] {
        let mut fleet = fleet(workers);
        let signatures: Vec<Signature> = (0..600).map(signature).collect();
        // Some wait: their queues are looked at as well.
        for (signature, key) in signatures.iter().zip(0..) {
            send(&mut fleet, &request(signature, key), RequestId(key));
        }
        assert!(fleet.held() > 0, "{workers}");
        let counted = allocation_counter::measure(|| {
            for (signature, key) in signatures.iter().zip(0..) {
                black_box(fleet.place(NOW, &request(signature, key)).unwrap());
            }
        });
        assert_eq!(counted.count_total, 0, "{workers} workers: {counted:?}");
    }
}

/// The counter counts: what promises a list does allocate.
#[test]
fn a_list_of_candidates_allocates() {
    let (fleet, signature) = (fleet(4), signature(0));
    let counted = allocation_counter::measure(|| {
        black_box(fleet.candidates(NOW, &request(&signature, 0)));
    });
    assert!(counted.count_total > 0);
}

fn fleet(workers: usize) -> Fleet {
    let mut fleet = Fleet::new(Settings::default()).unwrap();
    for number in 0..workers {
        let name = &format!("worker-{number}");
        let worker = WorkerId::of(name);
        let (weight, state) = (1.0, WorkerState::Ready);
        let joined = Event::Joined {
            worker,
            name,
            weight,
        };
        fleet.observe(NOW, &joined);
        fleet.observe(NOW, &Event::State { worker, state });
    }
    fleet
}

fn send(fleet: &mut Fleet, of: &Request<'_>, request: RequestId) {
    let decision = fleet.place(NOW, of).unwrap();
    let worker = decision.worker;
    let event = match decision.handover {
        Handover::Now => Event::Dispatched {
            worker,
            request,
            of,
        },
        Handover::Wait => Event::Held {
            worker,
            request,
            of,
        },
    };
    fleet.observe(NOW, &event);
}

/// Twelve rungs, the first of them shared by a hundred prompts.
fn signature(text: u64) -> Signature {
    let rung = |step: u32| {
        let text = if step == 1 {
            text / 100
        } else {
            text + 1_000_000
        };
        let name = (text ^ (u64::from(step) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Rung {
            blocks: 20 * step,
            hash: PrefixHash::from_bytes(name.to_be_bytes()),
        }
    };
    let rungs: Vec<Rung> = (1..=12).map(rung).collect();
    let block = BlockSize::new(16).unwrap();
    Signature::new(block, 4_000, Fingerprint::from_bytes([1; 8]), &rungs, None).unwrap()
}

fn request(signature: &Signature, key: u64) -> Request<'_> {
    Request {
        signature: Some(signature),
        affinity: Some(key),
        key_source: KeySource::Affinity,
        body_bytes: None,
        excluded: &[],
    }
}
