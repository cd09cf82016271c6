//! A router between raw bytes and a worker that is strict about what it gets. The fuzz target
//! `wire` uses this file too, so it needs nothing but the router.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headwater_router::{Config, Router};

/// A running router, and what its worker found wrong.
pub(crate) struct Strict {
    router: SocketAddr,
    problems: Arc<Mutex<Vec<String>>>,
}

impl Strict {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let worker = listener.local_addr().unwrap();
        let problems = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&problems);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let found = Arc::clone(&found);
                std::thread::spawn(move || attend(&stream.unwrap(), &found));
            }
        });
        let yaml = format!(
            "listen: 127.0.0.1:0\nthreads: 1\nworkers: [http://{worker}]\nlimits: {{header_bytes: 8192}}\n"
        );
        let router = Router::bind(Config::parse(&yaml, "strict.yaml").unwrap()).unwrap();
        let address = router.local_addr();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime
                .block_on(router.run(std::future::pending()))
                .unwrap();
        });
        Self {
            router: address,
            problems,
        }
    }

    /// Sends bytes and reads what comes back: HTTP or nothing, and an end.
    pub(crate) fn check(&self, bytes: &[u8]) {
        let answer = self.exchange(bytes);
        let is_http2 = bytes.starts_with(b"PRI * HTTP/2.0");
        let fine = answer.is_empty() || answer.starts_with(b"HTTP/1.") || is_http2;
        assert!(fine, "{}", String::from_utf8_lossy(&answer));
        self.is_well();
    }

    /// An ordinary request is answered, and the worker has seen nothing wrong.
    pub(crate) fn is_well(&self) {
        let request = b"GET /v1/models HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "the router is not well"
        );
        let problems = self.problems.lock().unwrap();
        assert!(problems.is_empty(), "{problems:?}");
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.router).unwrap();
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    fn exchange(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The router may have had enough before it has all of it.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("no end came");
            }
            _ => answer,
        }
    }
}

/// Answers requests, and notes the first thing that is wrong with one.
fn attend(stream: &TcpStream, problems: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    loop {
        match request(&mut reader) {
            Ok(true) => {}
            Ok(false) => return,
            Err(problem) => {
                problems.lock().unwrap().push(problem);
                return;
            }
        }
        let mut writer = stream;
        if writer
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            .is_err()
        {
            return;
        }
    }
}

/// Reads one request; false if the connection ended, which it may do anywhere.
fn request(reader: &mut impl BufRead) -> Result<bool, String> {
    let Some(first) = line(reader)? else {
        return Ok(false);
    };
    let words: Vec<&str> = first.split(' ').collect();
    if words.len() != 3 || words[2] != "HTTP/1.1" || words[1].is_empty() {
        return Err(format!("a request line: {first:?}"));
    }
    let (mut lengths, mut codings, mut hosts) = (Vec::new(), Vec::new(), 0);
    loop {
        let Some(header) = line(reader)? else {
            return Ok(false);
        };
        if header.is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(": ").or(header.split_once(':')) else {
            return Err(format!("a header: {header:?}"));
        };
        let token = |c: char| c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?={}".contains(c);
        if name.is_empty() || !name.chars().all(token) {
            return Err(format!("a name: {header:?}"));
        }
        match name.to_ascii_lowercase().as_str() {
            "content-length" => lengths.push(value.to_owned()),
            "transfer-encoding" => codings.push(value.to_owned()),
            "host" => hosts += 1,
            _ => {}
        }
    }
    if hosts != 1 {
        return Err(format!("{hosts} hosts"));
    }
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(true),
        ([length], []) => match length.parse() {
            Ok(length) => Ok(take(reader, length)),
            Err(_) => Err(format!("a length: {length:?}")),
        },
        ([], [coding]) if coding == "chunked" => chunks(reader),
        _ => Err(format!("framing: {lengths:?} {codings:?}")),
    }
}

fn chunks(reader: &mut impl BufRead) -> Result<bool, String> {
    loop {
        let Some(size) = line(reader)? else {
            return Ok(false);
        };
        let digits = size.chars().all(|c| c.is_ascii_hexdigit());
        let Some(length) = usize::from_str_radix(&size, 16).ok().filter(|_| digits) else {
            return Err(format!("a chunk size: {size:?}"));
        };
        if length > 0 && !take(reader, length) {
            return Ok(false);
        }
        loop {
            match line(reader)? {
                None => return Ok(false),
                Some(end) if end.is_empty() => break,
                Some(trailer) if length > 0 => {
                    return Err(format!("a chunk's end: {trailer:?}"));
                }
                Some(_) => {}
            }
        }
        if length == 0 {
            return Ok(true);
        }
    }
}

/// A line without its end, which must be CR LF; `None` if the connection ended within.
fn line(reader: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    if reader.read_until(b'\n', &mut bytes).is_err() || bytes.pop() != Some(b'\n') {
        return Ok(None);
    }
    if bytes.pop() != Some(b'\r') || bytes.contains(&b'\r') || bytes.contains(&0) {
        return Err(format!("a line: {:?}", String::from_utf8_lossy(&bytes)));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn take(reader: &mut impl BufRead, length: usize) -> bool {
    std::io::copy(&mut reader.take(length as u64), &mut std::io::sink())
        .is_ok_and(|copied| copied == length as u64)
}
