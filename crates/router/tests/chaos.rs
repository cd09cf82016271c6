//! Everything goes wrong at once: 200 clients, 8 workers of which 5 are killed, hung, slowed,
//! restarted, answer nonsense or tell no metrics, with reloads and drains all the time. What could
//! be answered is answered, and nothing is left behind.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop"
)]

#[path = "router/support.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use headwater_router::Config;
use support::{Act, Conn, Running, Worker, request, signature, soon};

const WORKERS: usize = 8;
/// Workers that something happens to; the others make every request answerable.
const SHAKEN: usize = 5;
const CLIENTS: u64 = 200;
const EVENTS: u32 = 4;
/// How long it goes on, unless `CHAOS_SECONDS` says otherwise.
const SECONDS: u64 = 6;

const SETTINGS: &str = "\
retry: {max: 7, ratio: 1, first_byte_ms: WAIT, replay_bytes: 1000000, on_429: elsewhere}
breaker: {failures: 3, open_ms: 100, most_open_ms: 500}
health: {interval_ms: 200}
metrics: {interval_ms: 200}
placement: {hold: {tokens: 4096}}
";

/// Numbers without a pattern, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

#[derive(Default)]
struct Outcomes {
    whole: AtomicU64,
    /// Its worker died after the first byte.
    cut: AtomicU64,
    left: AtomicU64,
    /// Answered with something else than 200.
    refused: AtomicU64,
}

/// Asks one thing after another until told to stop.
async fn client(
    number: u64,
    address: std::net::SocketAddr,
    stop: Arc<AtomicBool>,
    seen: Arc<Outcomes>,
) {
    let mut dice = Dice(number * 7_919 + 1);
    let mut conn = Conn::to(address).await;
    while !stop.load(SeqCst) {
        let conversation = u8::try_from(dice.below(100)).unwrap();
        let turns = u8::try_from(1 + dice.below(8)).unwrap();
        let signed = signature(conversation, turns).to_string();
        let session = conversation.to_string();
        let header = match dice.below(3) {
            0 => ("prefix-signature", signed.as_str()),
            1 => ("x-session-id", session.as_str()),
            _ => ("x-none", "1"),
        };
        let body = match dice.below(20) {
            0 => "x".repeat(100_000),
            _ => format!("{conversation}"),
        };
        conn.send(&request(&[header], &body))
            .await
            .expect("an open connection");
        if dice.below(15) == 0 {
            // It leaves, while it waits or a little later.
            let wait = Duration::from_millis(dice.below(40));
            let _ = tokio::time::timeout(wait, conn.fill()).await;
            seen.left.fetch_add(1, SeqCst);
            conn = Conn::to(address).await;
            continue;
        }
        let head = soon("a head", conn.response_head()).await.expect("a head");
        if head.status != 200 {
            println!("{}", String::from_utf8_lossy(&head.body));
            seen.refused.fetch_add(1, SeqCst);
            conn = Conn::to(address).await;
            continue;
        }
        let mut events = 0;
        let ended = loop {
            match soon("a chunk", conn.chunk()).await {
                Some(chunk) if chunk.is_empty() => break true,
                Some(chunk) => assert_eq!(chunk, format!("data: {events}\n\n").as_bytes()),
                None => break false,
            }
            events += 1;
        };
        if ended {
            assert_eq!(events, EVENTS);
            seen.whole.fetch_add(1, SeqCst);
        } else {
            seen.cut.fetch_add(1, SeqCst);
            conn = Conn::to(address).await;
        }
    }
}

/// Does one thing to one worker, and undoes what was done to another one.
async fn shake(dice: &mut Dice, workers: &[Arc<Worker>], dead: &mut [bool]) {
    let index = usize::try_from(dice.below(SHAKEN as u64)).unwrap();
    let worker = &workers[index];
    if dead[index] {
        worker.rise().await;
        dead[index] = false;
    }
    worker.health.store(200, SeqCst);
    *worker.metrics.lock().unwrap() = metrics("vllm:num_requests_running", dice.below(30));
    worker.tells.store(true, SeqCst);
    match dice.below(12) {
        0 | 1 => {
            worker.die().await;
            dead[index] = true;
        }
        2 => worker.does(Act::Hang),
        3 => worker.does(Act::Paced(EVENTS, 100)),
        4 => worker.does(Act::Status(503)),
        5 => worker.does(Act::Status(429)),
        6 => worker.does(Act::Garbage),
        7 => worker.does(Act::Close),
        8 => worker.health.store(503, SeqCst),
        10 => worker.tells.store(false, SeqCst),
        9 => *worker.metrics.lock().unwrap() = metrics("renamed:requests", dice.below(9)),
        _ => worker.does(Act::Paced(EVENTS, 1)),
    }
}

fn metrics(name: &str, running: u64) -> String {
    format!("{name} {running}\nvllm:kv_cache_usage_perc 0.{running}\n")
}

/// Takes a worker off the list or puts it back; drains one or takes it into service.
async fn reorganise(dice: &mut Dice, router: &Running, workers: &[Arc<Worker>]) {
    let index = usize::try_from(dice.below(SHAKEN as u64)).unwrap();
    let name = workers[index].address;
    match dice.below(4) {
        0 => drop(router.admin("POST", &format!("/drain?worker={name}")).await),
        1 => drop(
            router
                .admin("POST", &format!("/undrain?worker={name}"))
                .await,
        ),
        2 => reload(router, workers, Some(index)),
        _ => reload(router, workers, None),
    }
}

fn reload(router: &Running, workers: &[Arc<Worker>], without: Option<usize>) {
    let listed = workers
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != without);
    let urls: Vec<String> = listed.map(|(_, worker)| worker.url()).collect();
    let yaml = format!("listen: 127.0.0.1:0\nworkers: [{}]\n", urls.join(", "));
    let config = Config::parse(&yaml, "chaos.yaml").unwrap();
    router.handle.reload(&config);
}

/// Memory of this process in KiB, where the system tells.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Open files and sockets of this process, where the system tells.
fn descriptors() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

async fn until_nothing_is_left(router: &Running, workers: &[Arc<Worker>]) {
    soon("an idle router", async {
        loop {
            let state = router.state().await;
            let listed = state["workers"].as_array().unwrap();
            let flying: u64 = listed
                .iter()
                .map(|w| w["in_flight"].as_u64().unwrap())
                .sum();
            let held = router.metric("headwater_held").await;
            // Health checks and scrapes keep one connection each.
            let kept = workers.iter().all(|w| w.open.load(SeqCst) <= 2);
            if listed.len() == WORKERS && flying == 0 && held < 0.5 && kept {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_can_be_answered_is_answered_and_nothing_is_left_behind() {
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let worker = Worker::start().await;
        worker.does(Act::Paced(EVENTS, 1));
        worker.remembers.store(false, SeqCst);
        workers.push(worker);
    }
    let urls: Vec<String> = workers.iter().map(|worker| worker.url()).collect();
    let seconds = std::env::var("CHAOS_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok());
    // A machine that is asked for half an hour has other things to do as well: there a worker
    // that is well may be late.
    let wait = if seconds.is_some() { "2500" } else { "1500" };
    let mut router = Running::before(&urls, &SETTINGS.replace("WAIT", wait));
    let (stop, seen) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(Outcomes::default()),
    );
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(client(
            number,
            router.address,
            Arc::clone(&stop),
            Arc::clone(&seen),
        ));
    }

    let time = Duration::from_secs(seconds.unwrap_or(SECONDS));
    let (began, mut dice, mut dead) = (Instant::now(), Dice(42), vec![false; WORKERS]);
    let (mut early_kib, mut early_files, mut tenths) = (None, None, Vec::new());
    while began.elapsed() < time {
        shake(&mut dice, &workers, &mut dead).await;
        if dice.below(3) == 0 {
            reorganise(&mut dice, &router, &workers).await;
        }
        if began.elapsed() > time * u32::try_from(tenths.len()).unwrap() / 10 {
            tenths.push((resident_kib(), descriptors()));
        }
        if began.elapsed() > time / 2 {
            early_kib = early_kib.or_else(resident_kib);
            early_files = early_files.or_else(descriptors);
        }
        tokio::time::sleep(Duration::from_millis(40)).await;
        while let Some(ended) = clients.try_join_next() {
            ended.expect("a client that was not answered");
        }
    }
    let (late_kib, late_files) = (resident_kib(), descriptors());
    stop.store(true, SeqCst);
    while let Some(ended) = soon("the clients", clients.join_next()).await {
        ended.expect("a client that was not answered");
    }
    let count = |outcome: &AtomicU64| outcome.load(SeqCst);
    let (whole, cut, left) = (count(&seen.whole), count(&seen.cut), count(&seen.left));
    println!(
        "{whole} whole, {cut} cut, {left} left; {early_kib:?} then {late_kib:?} KiB, {early_files:?} then {late_files:?} files"
    );
    println!("KiB and files at each tenth of the time: {tenths:?}");
    // Workers that fail at the same moment may ask for more retries than requests have earned: who is
    // refused for that is counted, and nobody is for another reason.
    let denied = router.metric("headwater_retries_denied_total").await;
    let refused = count(&seen.refused) as f64;
    assert!(
        refused <= denied && denied <= whole as f64 / 1_000.0,
        "{refused} refused, {denied} retries beyond the budget"
    );
    assert!(whole > 300 && left > 20, "{whole} whole, {left} left");

    for (worker, dead) in workers.iter().zip(dead) {
        if dead {
            worker.rise().await;
        }
        worker.does(Act::Paced(EVENTS, 1));
    }
    reload(&router, &workers, None);
    until_nothing_is_left(&router, &workers).await;
    if let (Some(early), Some(late)) = (early_kib, late_kib) {
        assert!(late < early + 8 * 1_024, "{early} KiB, then {late} KiB");
    }
    if let (Some(early), Some(late)) = (early_files, late_files) {
        assert!(late < early + 400, "{early} files, then {late} files");
    }
    router.stop();
    router.ended().await;
}
