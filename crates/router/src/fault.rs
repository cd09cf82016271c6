//! What goes wrong with one request: whose fault it is, whether to try again, what to answer.

use std::io;

use headwater_placement::NoWorker;
use hyper::StatusCode;

/// A request that could not be answered by a worker. Retries and status are derived from it,
/// here and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nobody listens at the worker's address.
    Refused,
    /// No connection could be made for another reason.
    Unreachable,
    /// A kept connection ended before the answer: it was most likely closed while idle.
    StaleConnection,
    /// A fresh connection ended before the answer.
    Closed,
    /// The worker gave the request back without having looked at it, as HTTP/2 lets it do when
    /// it has enough or is about to stop.
    Declined,
    /// What came was not HTTP.
    Garbled,
    /// No answer began in the time that there is for it.
    Late,
    /// The worker was found to be down while its answer was waited for.
    Lost,
    /// This process can open no more connections.
    Exhausted,
    /// The client's own body broke off.
    ClientBody,
    /// The client's body is larger than allowed.
    TooLarge,
    /// Nothing came of the client's body for too long.
    SlowBody,
    /// The head could be read in two ways.
    Ambiguous,
    /// No `Host`, or several.
    Host,
    /// What the request line names is no path.
    Target,
    /// The head has more headers than anybody needs.
    LargeHead,
    /// The body is encoded for transfer in a way that this proxy does not know.
    Coding,
    /// The client expects something else than 100.
    Expectation,
    /// The client waits for 100, which it cannot be told over HTTP/2.
    NoContinue,
    /// It fits none of the pools, and there are no workers beside them.
    NoPool,
    /// No worker can get it.
    NoWorker(NoWorker),
    /// The client asks for what this proxy does not do.
    Upgrade,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Worker,
    Ours,
}

/// Whether and where to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// The same worker, over a fresh connection.
    Here,
    Elsewhere,
}

/// What a system says that has no descriptor, no port or no memory for another connection: ENFILE,
/// EMFILE and ENOBUFS, which the standard library has no names for.
const NO_MORE: [i32; 3] = [23, 24, 105];

impl Fault {
    /// The fault behind a connection that could not be made.
    pub(crate) fn of_connect(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::AddrNotAvailable => Self::Exhausted,
            _ if error
                .raw_os_error()
                .is_some_and(|code| NO_MORE.contains(&code)) =>
            {
                Self::Exhausted
            }
            _ => Self::Unreachable,
        }
    }

    pub(crate) fn side(self) -> Side {
        match self {
            Self::Refused | Self::Unreachable | Self::StaleConnection => Side::Worker,
            Self::Closed | Self::Declined | Self::Garbled => Side::Worker,
            Self::Late | Self::Lost => Side::Worker,
            Self::ClientBody | Self::TooLarge | Self::SlowBody | Self::Ambiguous => Side::Client,
            Self::Host | Self::Target | Self::Coding | Self::LargeHead => Side::Client,
            Self::Expectation | Self::NoContinue => Side::Client,
            Self::Upgrade | Self::NoPool => Side::Client,
            Self::NoWorker(_) | Self::Exhausted => Side::Ours,
        }
    }

    pub(crate) fn again(self) -> Again {
        match self {
            Self::StaleConnection => Again::Here,
            Self::Refused | Self::Unreachable | Self::Closed | Self::Garbled => Again::Elsewhere,
            Self::Declined | Self::Late | Self::Lost => Again::Elsewhere,
            Self::ClientBody | Self::TooLarge | Self::SlowBody | Self::Ambiguous => Again::Never,
            Self::Host | Self::Target | Self::Coding | Self::LargeHead => Again::Never,
            Self::Expectation | Self::NoContinue => Again::Never,
            Self::Upgrade | Self::NoPool => Again::Never,
            Self::NoWorker(_) | Self::Exhausted => Again::Never,
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Refused | Self::Declined | Self::NoWorker(_) | Self::Exhausted => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Unreachable | Self::StaleConnection | Self::Closed | Self::Garbled => {
                StatusCode::BAD_GATEWAY
            }
            Self::Late | Self::Lost => StatusCode::GATEWAY_TIMEOUT,
            Self::ClientBody | Self::Ambiguous | Self::Host | Self::Target => {
                StatusCode::BAD_REQUEST
            }
            Self::LargeHead => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::NoPool => StatusCode::NOT_FOUND,
            Self::Expectation | Self::NoContinue => StatusCode::EXPECTATION_FAILED,
            Self::Coding | Self::Upgrade => StatusCode::NOT_IMPLEMENTED,
        }
    }

    /// Whether the rest of what the client sends cannot be told from another request.
    pub(crate) fn ends_connection(self) -> bool {
        let lost = [
            Self::Ambiguous,
            Self::Host,
            Self::Target,
            Self::Coding,
            Self::TooLarge,
            Self::SlowBody,
        ];
        lost.contains(&self)
    }

    /// The name in metrics and in the answer's `code`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "worker_refused",
            Self::Unreachable => "worker_unreachable",
            Self::StaleConnection => "worker_stale_connection",
            Self::Closed => "worker_closed",
            Self::Declined => "worker_declined",
            Self::Garbled => "worker_garbled",
            Self::Late => "worker_late",
            Self::Lost => "worker_lost",
            Self::Exhausted => "router_exhausted",
            Self::ClientBody => "client_body",
            Self::TooLarge => "body_too_large",
            Self::SlowBody => "slow_body",
            Self::Ambiguous => "ambiguous_head",
            Self::Host => "host",
            Self::Target => "target",
            Self::LargeHead => "large_head",
            Self::Coding => "transfer_coding",
            Self::Expectation => "expectation",
            Self::NoContinue => "no_continue",
            Self::NoPool => "no_pool",
            Self::NoWorker(why) => why.as_str(),
            Self::Upgrade => "upgrade",
        }
    }

    /// What the client is told: nothing of the workers' names or addresses.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Refused | Self::Unreachable => "no worker could be reached; try again",
            Self::StaleConnection | Self::Closed => {
                "the worker closed the connection before it answered; try again"
            }
            Self::Declined => "the worker takes no more requests now; try again later",
            Self::Garbled => "the worker's answer was not HTTP",
            Self::Late => "the worker did not begin its answer in time; try again",
            Self::Lost => "the worker was lost before it answered; try again",
            Self::Exhausted => "this router can open no more connections; try again later",
            Self::ClientBody => "the request's body could not be read to its end",
            Self::TooLarge => "the request's body is larger than this router allows",
            Self::SlowBody => "the rest of the request's body did not come in time",
            Self::Ambiguous => {
                "the request's head can be read in two ways; send a length or chunks, not both, and end lines with CR LF"
            }
            Self::Host => "the request must name its host once",
            Self::Target => "the request line must name a path that begins with `/`",
            Self::LargeHead => "the request's head has more than 100 headers",
            Self::Coding => "the only transfer coding that this router knows is `chunked`",
            Self::Expectation => "the only expectation that this router meets is `100-continue`",
            Self::NoContinue => {
                "over HTTP/2 this router does not say that a body may come; send the request without `Expect`"
            }
            Self::NoPool => "the request's path and headers fit none of this router's pools",
            Self::NoWorker(NoWorker::Full) => "every worker is full; try again later",
            Self::NoWorker(NoWorker::AllTried) => "every worker failed this request; try again",
            Self::NoWorker(NoWorker::Empty | NoWorker::NoneReady) => {
                "no worker is ready; try again later"
            }
            Self::Upgrade => "this router passes no tunnels and no protocol upgrades on",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_workers_fault_is_tried_again() {
        let all = [
            Fault::Refused,
            Fault::Unreachable,
            Fault::StaleConnection,
            Fault::Closed,
            Fault::Garbled,
            Fault::Late,
            Fault::Lost,
            Fault::Exhausted,
            Fault::ClientBody,
            Fault::TooLarge,
            Fault::SlowBody,
            Fault::Ambiguous,
            Fault::Host,
            Fault::Target,
            Fault::LargeHead,
            Fault::Coding,
            Fault::Expectation,
            Fault::NoContinue,
            Fault::NoWorker(NoWorker::Empty),
            Fault::Upgrade,
        ];
        for fault in all {
            let again = fault.again() != Again::Never;
            assert!(!again || fault.side() == Side::Worker, "{fault:?}");
            let client =
                fault.status().is_client_error() || fault.status() == StatusCode::NOT_IMPLEMENTED;
            assert_eq!(client, fault.side() == Side::Client, "{fault:?}");
        }
    }

    #[test]
    fn a_refused_connection_is_told_from_an_unreachable_one() {
        let of = |kind: io::ErrorKind| Fault::of_connect(&io::Error::from(kind));
        assert_eq!(of(io::ErrorKind::ConnectionRefused), Fault::Refused);
        assert_eq!(of(io::ErrorKind::TimedOut), Fault::Unreachable);
        // Too many open files: no worker's fault.
        let ours = Fault::of_connect(&io::Error::from_raw_os_error(24));
        assert_eq!((ours, ours.side()), (Fault::Exhausted, Side::Ours));
    }
}
