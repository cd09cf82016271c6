//! How much may be on its way in one connection of HTTP/2: nobody who stalls one of its streams
//! takes the others' share.

/// Of one stream, before whoever reads it has taken a part: enough for 250 MB a second where an
/// answer takes a millisecond.
pub(crate) const STREAM_BYTES: u32 = 256 << 10;

/// Streams at the same time; whoever wants more opens another connection.
pub(crate) const MOST_STREAMS: u32 = 128;

/// Of all streams together, which is the most that one connection's peer can have this process
/// keep: 32 MiB. Less than the streams' sum would let some of them stop the rest, and a stream
/// that waits for the connection's window looks like a peer that has stalled.
pub(crate) const CONNECTION_BYTES: u32 = MOST_STREAMS * STREAM_BYTES;
