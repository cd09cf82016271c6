//! Load for measuring: closed or open loop over kept connections, signed as a conversation is.
//!
//! `load --targets 127.0.0.1:8080 --conns 64 --secs 2 --size 1024 [--rate 500]
//! [--chunks 64 --delay-us 5000] [--sigs 1000] [--max-requests 1]` prints one line of JSON.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::{Duration, Instant};

use headwater_signature::{BlockSize, Fingerprint, PrefixHash, Rung, Signature};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep_until;

/// What to do, from the command line.
#[derive(Clone)]
struct Plan {
    targets: Vec<String>,
    conns: u64,
    secs: f64,
    size: usize,
    /// Requests in a second over all connections; 0 for as many as go.
    rate: f64,
    chunks: u64,
    delay_us: u64,
    sigs: u64,
    max_requests: u64,
}

#[derive(Default)]
struct Seen {
    started: u64,
    ok: u64,
    other: u64,
    errors: u64,
    chunks: u64,
    micros: Vec<u64>,
}

/// When the next request of an open loop is due.
struct Schedule {
    dice: u64,
    due: Instant,
}

fn main() -> Result<(), Box<dyn Error>> {
    let plan = Rc::new(Plan::of_arguments()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let seen = Rc::new(RefCell::new(Seen::default()));
    let began = Instant::now();
    let schedule = Rc::new(RefCell::new(Schedule {
        dice: 0x9E37_79B9_7F4A_7C15,
        due: began,
    }));
    let tasks = tokio::task::LocalSet::new();
    runtime.block_on(tasks.run_until(async {
        let clients: Vec<_> = (0..plan.conns)
            .map(|number| {
                let (plan, seen) = (Rc::clone(&plan), Rc::clone(&seen));
                let schedule = Rc::clone(&schedule);
                tokio::task::spawn_local(client(number, plan, seen, schedule, began))
            })
            .collect();
        for client in clients {
            let _ended = client.await;
        }
    }));
    seen.borrow_mut().print(began.elapsed());
    Ok(())
}

impl Plan {
    fn of_arguments() -> Result<Self, Box<dyn Error>> {
        let mut plan = Self {
            targets: vec!["127.0.0.1:8080".to_owned()],
            conns: 64,
            secs: 2.0,
            size: 1_024,
            rate: 0.0,
            chunks: 0,
            delay_us: 0,
            sigs: 1_000,
            max_requests: u64::MAX,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or("a value is missing")?;
            match name.as_str() {
                "--targets" => plan.targets = value.split(',').map(str::to_owned).collect(),
                "--conns" => plan.conns = value.parse()?,
                "--secs" => plan.secs = value.parse()?,
                "--size" => plan.size = value.parse()?,
                "--rate" => plan.rate = value.parse()?,
                "--chunks" => plan.chunks = value.parse()?,
                "--delay-us" => plan.delay_us = value.parse()?,
                "--sigs" => plan.sigs = value.parse()?,
                "--max-requests" => plan.max_requests = value.parse()?,
                _ => return Err(format!("no option {name}").into()),
            }
        }
        Ok(plan)
    }

    fn target(&self, number: u64) -> &str {
        let count = self.targets.len().max(1) as u64;
        let index = usize::try_from(number % count).unwrap_or_default();
        self.targets.get(index).map_or("", String::as_str)
    }

    /// A request of one of the conversations, with a body of the size.
    fn request(&self, conversation: u64) -> Result<Vec<u8>, Box<dyn Error>> {
        let signature = signature(conversation)?;
        let mock = match self.chunks {
            0 => String::new(),
            chunks => format!("X-Mock: {chunks} {}\r\n", self.delay_us),
        };
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: llm.example\r\nUser-Agent: load\r\n\
             Accept: application/json\r\nContent-Type: application/json\r\n\
             Authorization: Bearer sk-0123456789abcdef0123456789abcdef\r\n\
             Prefix-Signature: {signature}\r\nPrefix-Affinity: {conversation:016x}\r\n\
             X-Session-Id: {conversation:016x}\r\n{mock}Content-Length: {}\r\n\r\n",
            self.size
        );
        let mut request = head.into_bytes();
        request.resize(request.len() + self.size, b'x');
        Ok(request)
    }
}

/// Eight rungs, as a conversation of some turns has them.
fn signature(conversation: u64) -> Result<Signature, Box<dyn Error>> {
    let rungs: Vec<Rung> = [64, 96, 141, 150, 152, 171, 187, 190]
        .iter()
        .map(|blocks: &u32| {
            let mixed = (conversation + 1)
                .wrapping_mul(0xFF51_AFD7_ED55_8CCD)
                .wrapping_mul(u64::from(*blocks) | 1);
            Rung {
                blocks: *blocks,
                hash: PrefixHash::from_bytes(mixed.to_be_bytes()),
            }
        })
        .collect();
    let fingerprint = Fingerprint::from_bytes(0x00AB_CDEF_u64.to_be_bytes());
    let block = BlockSize::new(16).ok_or("no size of a block")?;
    Ok(Signature::new(block, 3_051, fingerprint, &rungs, None)?)
}

async fn client(
    number: u64,
    plan: Rc<Plan>,
    seen: Rc<RefCell<Seen>>,
    schedule: Rc<RefCell<Schedule>>,
    began: Instant,
) {
    let end = began + Duration::from_secs_f64(plan.secs);
    let mut dice = number.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1;
    let mut conn = None;
    loop {
        let due = schedule.borrow_mut().next(plan.rate);
        if due.max(Instant::now()) >= end || seen.borrow().started >= plan.max_requests {
            return;
        }
        seen.borrow_mut().started += 1;
        sleep_until(due.into()).await;
        let Ok(request) = plan.request(roll(&mut dice) % plan.sigs.max(1)) else {
            return;
        };
        let sent = Instant::now();
        match exchange(&mut conn, plan.target(number), &request, &seen).await {
            Ok(status) => {
                let mut seen = seen.borrow_mut();
                let micros = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
                seen.micros.push(micros);
                if status == 200 {
                    seen.ok += 1;
                } else {
                    seen.other += 1;
                }
            }
            Err(_) => {
                conn = None;
                seen.borrow_mut().errors += 1;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }
}

impl Schedule {
    /// Gaps as of many independent clients, the same in every run.
    fn next(&mut self, rate: f64) -> Instant {
        if rate <= 0.0 {
            return self.due;
        }
        let share = u32::try_from(roll(&mut self.dice) >> 40)
            .unwrap_or(1)
            .max(1);
        let gap = -(f64::from(share) / f64::from(1_u32 << 24)).ln() / rate;
        self.due += Duration::from_secs_f64(gap);
        self.due
    }
}

fn roll(dice: &mut u64) -> u64 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    *dice
}

/// Sends a request and reads its answer to the end; gives the status.
async fn exchange(
    conn: &mut Option<TcpStream>,
    target: &str,
    request: &[u8],
    seen: &RefCell<Seen>,
) -> Result<u16, Box<dyn Error>> {
    let stream = match conn {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(target).await?;
            stream.set_nodelay(true)?;
            conn.insert(stream)
        }
    };
    stream.write_all(request).await?;
    let mut bytes = Vec::with_capacity(4_096);
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err("it ended early".into());
        }
        let mut lines = [httparse::EMPTY_HEADER; 64];
        let mut answer = httparse::Response::new(&mut lines);
        let httparse::Status::Complete(head_bytes) = answer.parse(&bytes)? else {
            continue;
        };
        let status = answer.code.unwrap_or_default();
        let named = |name: &str| {
            let mut lines = answer.headers.iter();
            lines.find(|line| line.name.eq_ignore_ascii_case(name))
        };
        let length = named("content-length").map(|line| line.value.to_vec());
        match length {
            Some(length) => {
                let length: usize = std::str::from_utf8(&length)?.parse()?;
                while bytes.len() < head_bytes + length {
                    if stream.read_buf(&mut bytes).await? == 0 {
                        return Err("it ended early".into());
                    }
                }
            }
            None => read_events(stream, &mut bytes, head_bytes, seen).await?,
        }
        return Ok(status);
    }
}

/// Reads chunks to the last one, and counts events.
async fn read_events(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    head_bytes: usize,
    seen: &RefCell<Seen>,
) -> Result<(), Box<dyn Error>> {
    bytes.drain(..head_bytes);
    loop {
        let events = bytes.windows(6).filter(|w| *w == b"data: ").count();
        seen.borrow_mut().chunks += events as u64;
        if bytes.ends_with(b"0\r\n\r\n") {
            return Ok(());
        }
        // Enough for the end to be seen where it is cut.
        let kept = bytes.len().saturating_sub(5);
        bytes.drain(..kept);
        if stream.read_buf(bytes).await? == 0 {
            return Err("it ended early".into());
        }
    }
}

impl Seen {
    fn print(&mut self, took: Duration) {
        self.micros.sort_unstable();
        let at = |share: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "an index into a list in memory"
            )]
            let index = (self.micros.len() as f64 * share) as usize;
            self.micros.get(index).copied().unwrap_or_default()
        };
        println!(
            r#"{{"secs":{:.3},"ok":{},"non200":{},"errors":{},"chunks":{},"lat":{{"p50":{},"p99":{}}}}}"#,
            took.as_secs_f64(),
            self.ok,
            self.other,
            self.errors,
            self.chunks,
            at(0.5),
            at(0.99)
        );
    }
}
