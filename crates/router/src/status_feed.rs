//! The status page's events: what was, once, and then how it is, every second.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::admin_answer::{self, AdminBody, Answer, EVENTS};
use crate::history::Point;
use crate::shared::Shared;
use crate::status;

/// How often a page hears from us.
const INTERVAL: Duration = Duration::from_secs(1);

/// Pages at once: a forgotten tab costs little, a thousand of them would.
const PAGES: u64 = 64;

#[derive(Serialize)]
struct Past {
    points: Vec<Point>,
}

/// `GET /events`: a stream that ends when its reader leaves.
pub(crate) fn answer(shared: &Arc<Shared>) -> Answer {
    if shared.status_pages.enter() > PAGES {
        shared.status_pages.leave();
        let hint = format!("{PAGES} status pages are open; close one");
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return admin_answer::Refusal::new(status, "too_many_pages", hint).into_answer();
    }
    let (sender, receiver) = mpsc::channel(2);
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        feed(&shared, &sender).await;
        shared.status_pages.leave();
    });
    admin_answer::of_body(StatusCode::OK, EVENTS, AdminBody::Events(receiver))
}

async fn feed(shared: &Arc<Shared>, sender: &mpsc::Sender<Bytes>) {
    let past = Past {
        points: shared.history.points(),
    };
    if sender.send(event("history", &past)).await.is_err() {
        return;
    }
    let mut ticks = tokio::time::interval(INTERVAL);
    // A page that was asleep wants the present, not what it missed.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = sender.closed() => return,
        }
        let now = event("now", &status::snapshot(shared));
        if sender.send(now).await.is_err() {
            return;
        }
    }
}

/// One event. JSON on one line has no line break that could end it early.
fn event(name: &str, value: &impl Serialize) -> Bytes {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned());
    Bytes::from(format!("event: {name}\ndata: {json}\n\n"))
}
