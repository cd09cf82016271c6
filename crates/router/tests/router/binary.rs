//! The program: its arguments, its signals, its exit codes.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Act, Conn, Worker, request, soon, until};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater-router"));
    command.env_clear();
    command
}

fn ends(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// What the program's first line says.
fn address(line: &str, after: &str) -> SocketAddr {
    let rest = line.split(after).nth(1).unwrap();
    let text = rest.split([',', ' ']).next().unwrap().trim();
    text.trim_start_matches("http://").parse().unwrap()
}

fn spawned(config: &Path) -> Child {
    let mut command = program();
    command.arg("--config").arg(config);
    command.stderr(Stdio::piped()).spawn().unwrap()
}

/// A program that runs, and is killed if its test ends early.
struct Program {
    child: Child,
    address: SocketAddr,
    admin: SocketAddr,
}

impl Program {
    fn start(config: &Path) -> Self {
        Self::of(spawned(config))
    }

    /// Waits until it has said where it listens.
    fn of(mut child: Child) -> Self {
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        // Whoever writes to a pipe that nobody reads stops.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            address: address(&line, "listening on "),
            admin: address(&line, "admin on "),
            child,
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", name, &id])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    async fn ask(&self, session: &str) -> String {
        let headers = [("x-session-id", session)];
        let answer = Conn::to(self.address).await.ask(&headers, "{}").await;
        assert_eq!(answer.status, 200);
        answer.text().to_owned()
    }

    async fn metric(&self, line: &str) -> String {
        let mut conn = Conn::to(self.admin).await;
        conn.send("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await
            .unwrap();
        let page = soon("metrics", conn.response()).await.unwrap();
        let found = page.text().lines().find_map(|l| l.strip_prefix(line));
        found.unwrap_or_default().trim().to_owned()
    }

    async fn until_metric(&self, line: &str, value: &str) {
        soon(line, async {
            while self.metric(line).await != value {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn it_may_open_as_many_files_as_the_system_lets_it() {
    let worker = Worker::start().await;
    let script = "ulimit -S -n 64 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_headwater-router")])
        .args(["--listen", "127.0.0.1:0", "--workers", &worker.url()])
        .env_clear()
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let files = limits.lines().find(|l| l.starts_with("Max open files"));
    let words: Vec<_> = files.unwrap().split_whitespace().collect();
    assert_eq!(words[3], words[4], "soft and hard: {line}");
    assert_ne!(words[3], "64");
}

fn write(path: &Path, workers: &[&Arc<Worker>]) {
    let urls: Vec<String> = workers.iter().map(|worker| worker.url()).collect();
    let yaml = format!("listen: 127.0.0.1:0\nworkers: [{}]\n", urls.join(", "));
    std::fs::write(path, yaml).unwrap();
}

#[tokio::test]
async fn hang_up_reads_the_file_again_and_drops_no_stream() {
    let (one, two) = (Worker::start().await, Worker::start().await);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.yaml");
    write(&file, &[&one]);
    let program = Program::start(&file);
    one.does(Act::Stream);
    let mut stream = Conn::to(program.address).await;
    stream.send(&request(&[], "{}")).await.unwrap();
    soon("a head", stream.response_head()).await.unwrap();

    // A file that cannot be used changes nothing.
    std::fs::write(&file, "listen: nowhere").unwrap();
    program.signal("HUP");
    program
        .until_metric("headwater_reload_errors_total", "1")
        .await;

    write(&file, &[&two]);
    program.signal("HUP");
    program.until_metric("headwater_reloads_total", "1").await;
    for session in 0..5 {
        assert_eq!(
            program.ask(&session.to_string()).await,
            two.address.to_string()
        );
    }
    one.events.add_permits(1);
    assert_eq!(
        soon("an event", stream.chunk()).await.unwrap(),
        b"data: 0\n\n"
    );
    one.finish.notify_one();
    assert_eq!(soon("the end", stream.chunk()).await, Some(Vec::new()));
}

#[tokio::test]
async fn a_changed_file_is_read_again_without_a_signal() {
    let (one, two) = (Worker::start().await, Worker::start().await);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.yaml");
    write(&file, &[&one]);
    let program = Program::start(&file);
    assert_eq!(program.ask("a").await, one.address.to_string());
    write(&file, &[&two]);
    program.until_metric("headwater_reloads_total", "1").await;
    assert_eq!(program.ask("a").await, two.address.to_string());
}

#[tokio::test]
async fn a_file_that_changes_while_it_starts_is_read_again() {
    let (one, two) = (Worker::start().await, Worker::start().await);
    let folder = tempfile::tempdir().unwrap();
    let (file, token) = (folder.path().join("r.yaml"), folder.path().join("token"));
    // A pipe: the start waits for whoever writes to it, after the settings were read.
    let made = Command::new("mkfifo").arg(&token).status().unwrap();
    assert!(made.success());
    let settings = [&one, &two].map(|worker| {
        let (url, token) = (worker.url(), token.display());
        format!("listen: 127.0.0.1:0\nadmin_token_file: {token}\nworkers: ['{url}']\n")
    });
    std::fs::write(&file, &settings[0]).unwrap();
    let child = spawned(&file);
    let writing = std::thread::spawn(move || {
        let pipe = std::fs::OpenOptions::new().write(true).open(&token);
        std::fs::write(&file, &settings[1]).unwrap();
        pipe.unwrap().write_all(b"0123456789abcdef\n").unwrap();
    });
    until("the start", || writing.is_finished()).await;
    let program = Program::of(child);
    soon("the new worker", async {
        while program.ask("a").await != two.address.to_string() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn terminate_lets_streams_finish_and_ends_well() {
    let worker = Worker::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.yaml");
    write(&file, &[&worker]);
    let mut program = Program::start(&file);
    worker.does(Act::Stream);
    let mut stream = Conn::to(program.address).await;
    stream.send(&request(&[], "{}")).await.unwrap();
    soon("a head", stream.response_head()).await.unwrap();
    program.signal("TERM");
    soon("a closed port", async {
        while tokio::net::TcpStream::connect(program.address)
            .await
            .is_ok()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    worker.events.add_permits(1);
    assert_eq!(
        soon("an event", stream.chunk()).await.unwrap(),
        b"data: 0\n\n"
    );
    worker.finish.notify_one();
    assert_eq!(soon("the end", stream.chunk()).await, Some(Vec::new()));
    assert_eq!(code(&mut program).await, Some(0));
}

#[tokio::test]
async fn it_is_obeyed_from_its_first_line_on() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("router.yaml");
    let worker = Worker::start().await;
    write(&config, &[&worker]);
    for _ in 0..8 {
        let mut router = Program::start(&config);
        router.signal("HUP");
        router.signal("TERM");
        let status = router.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{status}");
    }
}

/// The exit code of a program that is told to end.
async fn code(program: &mut Program) -> Option<i32> {
    let mut status = None;
    until("the end of the program", || {
        status = program.child.try_wait().unwrap();
        status.is_some()
    })
    .await;
    status.unwrap().code()
}

#[tokio::test]
async fn who_asks_twice_is_not_made_to_wait_for_streams() {
    let worker = Worker::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.yaml");
    write(&file, &[&worker]);
    worker.does(Act::Stream);
    for (first, second) in [("TERM", "INT"), ("INT", "TERM"), ("TERM", "TERM")] {
        let mut program = Program::start(&file);
        let mut stream = Conn::to(program.address).await;
        stream.send(&request(&[], "{}")).await.unwrap();
        soon("a head", stream.response_head()).await.unwrap();
        program.signal(first);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(program.child.try_wait().unwrap(), None, "{first}");
        program.signal(second);
        assert_eq!(code(&mut program).await, Some(1), "{first} {second}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_to_its_end_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.yaml");
    let worker = Worker::start().await;
    write(&file, &[&worker]);
    let mut program = Program::start(&file);
    // Whoever opens it waits for a writer, as for a file system that does not answer.
    std::fs::remove_file(&file).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&file)
            .status()
            .unwrap()
            .success()
    );
    program.signal("HUP");
    tokio::time::sleep(Duration::from_millis(200)).await;
    program.ask("a").await;
    program.signal("TERM");
    assert_eq!(code(&mut program).await, Some(0));
}

#[test]
fn what_cannot_run_ends_with_2_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.yaml");
    std::fs::write(&file, "listen: 127.0.0.1:0\nworkers: [ftp://a]\n").unwrap();
    let file = file.to_str().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let worker = "http://127.0.0.1:1";
    let missing = folder.path().join("none.yaml");
    let cases: [(&[&str], &str); 7] = [
        (
            &["--config", file],
            ":2:11: workers[0]: `ftp://a` has no scheme `http`",
        ),
        (&["check", "--config", file], ":2:11: workers[0]"),
        (
            &["--config", missing.to_str().unwrap()],
            "cannot read the configuration",
        ),
        (
            &["--listen", &taken, "--workers", worker],
            "cannot listen on",
        ),
        (
            &[
                "--listen",
                "127.0.0.1:0",
                "--workers",
                worker,
                "--admin",
                &taken,
            ],
            "(`admin`)",
        ),
        (
            &[
                "--listen",
                "127.0.0.1:0",
                "--workers",
                "http://a:1,http://a:1",
            ],
            "--workers: `http://a:1` is listed twice",
        ),
        (&["--listen", "127.0.0.1:0"], "--workers"),
    ];
    let filter = program()
        .args(["--listen", "127.0.0.1:0", "--workers", worker])
        .env("HEADWATER_LOG", "nonsense[")
        .output();
    let said = String::from_utf8(filter.unwrap().stderr).unwrap();
    assert!(
        said.contains("HEADWATER_LOG: `nonsense[` is no filter"),
        "{said}"
    );
    for (arguments, expected) in cases {
        let output = ends(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_good_file_passes_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.yaml");
    std::fs::write(&file, "listen: 127.0.0.1:0\nworkers: [http://a:1]\n").unwrap();
    let output = ends(&["check", "--config", file.to_str().unwrap()]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("is fine: 1 worker, policy cost\n"));

    // What the file names is read as well, unless it is elsewhere.
    let yaml = "listen: 127.0.0.1:0\nworkers: [http://a:1, http://b:1]\ntls: {certificate: /none/c.pem, key: /none/k.pem}\n";
    std::fs::write(&file, yaml).unwrap();
    let file = file.to_str().unwrap();
    let output = ends(&["check", "--config", file]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("`tls.certificate`: cannot use `/none/c.pem`"),
        "{said}"
    );
    assert!(
        ends(&["check", "--without-files", "--config", file])
            .status
            .success()
    );
}

#[tokio::test]
async fn what_a_file_or_a_collector_gets_has_no_colours() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("r.yaml"), folder.path().join("log"));
    std::fs::write(
        &file,
        "listen: 127.0.0.1:0\nworkers: [http://127.0.0.1:9]\n",
    )
    .unwrap();
    let mut child = program()
        .arg("--config")
        .arg(&file)
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = || std::fs::read_to_string(&log).unwrap();
    // Nobody listens at the worker's port.
    soon("a warning", async {
        while !said().contains("worker is down") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let _ = child.kill();
    let _ = child.wait();
    assert!(!said().contains('\u{1b}'), "{}", said());
}

#[tokio::test]
async fn whoever_does_not_read_the_log_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.yaml");
    let worker = Worker::start().await;
    write(&path, &[&worker]);
    for reader_stays in [true, false] {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut filler = writer.try_clone().unwrap();
        let child = program().arg("--config").arg(&path).stderr(writer).spawn();
        let (mut reader, mut line) = (BufReader::new(reader), String::new());
        reader.read_line(&mut line).unwrap();
        let mut program = Program {
            address: address(&line, "listening on "),
            admin: address(&line, "admin on "),
            child: child.unwrap(),
        };
        // The pipe is full from now on, or nobody is at its other end.
        std::thread::spawn(move || while filler.write_all(&[b'x'; 4096]).is_ok() {});
        let _reader = reader_stays.then_some(reader);
        tokio::time::sleep(Duration::from_millis(100)).await;
        for reloads in ["1", "2"] {
            program.signal("HUP");
            program
                .until_metric("headwater_reloads_total ", reloads)
                .await;
            program.ask("a").await;
        }
        program.signal("TERM");
        until("the end of the program", || {
            program.child.try_wait().unwrap().is_some()
        })
        .await;
        assert!(program.child.wait().unwrap().success(), "{reader_stays}");
    }
}
