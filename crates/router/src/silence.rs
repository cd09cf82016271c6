//! How long a worker says nothing in the midst of its answer.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// One answer's. A worker may hang while its system still takes part in the connection: nothing
/// else ends such an answer.
pub(crate) struct Silence {
    limit: Option<Duration>,
    /// Set where the worker is waited for, and not touched by what it says: many small pieces
    /// must cost no timer each.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Whether something came since the alarm was set.
    spoke: bool,
}

impl Silence {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        Self {
            limit,
            alarm: None,
            spoke: false,
        }
    }

    /// Something came.
    pub(crate) fn ends(&mut self) {
        self.spoke = true;
    }

    /// Nothing has come yet; gives whether that has lasted for too long, which is found between
    /// once and twice the limit.
    pub(crate) fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        let is_new = self.alarm.is_none();
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(limit)));
        if !is_new && !alarm.is_elapsed() {
            return false;
        }
        if !is_new {
            if !self.spoke {
                return true;
            }
            alarm.as_mut().reset(Instant::now() + limit);
        }
        self.spoke = false;
        // Wakes this task when its time has come.
        let polled: Poll<()> = alarm.as_mut().poll(cx);
        polled.is_ready()
    }
}
