//! What a client says of its last turn, and how far that can be believed.
//!
//! An echo names a worker but not a time: the cache may have been overwritten since. Where this
//! router placed that turn itself, its own record of it says more.

use headwater_signature::RouteEcho;

use crate::fleet::Fleet;
use crate::name::Name;
use crate::sought::Sought;
use crate::worker::Worker;

impl Fleet {
    /// Tokens that a worker holds by what the client says; 0 if it says nothing of this one, or
    /// nothing that this router does not know better.
    pub(crate) fn echoed(&self, sought: &Sought<'_>, worker: &Worker) -> u32 {
        let echo = sought.echo.filter(|echo| echo.tag == worker.tag);
        match echo {
            Some(echo) if !self.is_witness(sought, echo, worker) => {
                sought.cacheable(u64::from(echo.tokens))
            }
            Some(_) | None => 0,
        }
    }

    /// A conversation's request goes out: does its client bring an echo? Asked where this router
    /// knows that there was an answer before, since nobody has one to return on a first turn.
    pub(crate) fn note_echo(&mut self, sought: &Sought<'_>) {
        let Some(session) = sought.conversation.map(Name::session) else {
            return;
        };
        if !self.residency.holders(session).is_empty() {
            self.echoes.note(sought.echo.is_some());
        }
    }

    /// Whether this router placed the turn that an echo speaks of, or a later one.
    fn is_witness(&self, sought: &Sought<'_>, echo: RouteEcho, worker: &Worker) -> bool {
        let Some(session) = sought.session() else {
            return false;
        };
        let mut holders = self.residency.holders(session).iter();
        let here = holders.find(|holder| holder.slot == worker.slot);
        let latest = here.and_then(|here| self.residency.prompt_tokens(here));
        // Beside other routers, a prompt of another length was another turn.
        let alone = self.settings.routers < 2 && !worker.has_foreign_work();
        latest.is_some_and(|latest| latest == echo.tokens || alone && latest > echo.tokens)
    }
}
