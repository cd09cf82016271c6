//! One connection to whichever of a host's addresses answers first, tried in their order.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::sleep;

/// How long an address may say nothing before the next one is tried beside it (RFC 8305, section 5).
const PATIENCE: Duration = Duration::from_millis(250);

/// An attempt that goes on; boxed, since there is one for each address that says nothing.
type Attempt = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

/// Connects. An address that drops what is sent to it costs a moment and not the whole time that
/// there is for a connection; one that refuses costs nothing.
pub(crate) async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    if let [address] = addresses {
        return TcpStream::connect(address).await;
    }
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    let mut attempts: Vec<Attempt> = Vec::new();
    for address in addresses {
        attempts.push(Box::pin(TcpStream::connect(*address)));
        let patience = sleep(PATIENCE);
        tokio::select! {
            biased;
            ended = first(&mut attempts) => match ended {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            },
            () = patience => {}
        }
    }
    while !attempts.is_empty() {
        match first(&mut attempts).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// The end of the first attempt that ends; there must be one.
async fn first(attempts: &mut Vec<Attempt>) -> io::Result<TcpStream> {
    poll_fn(|cx| {
        for (index, attempt) in attempts.iter_mut().enumerate() {
            if let Poll::Ready(ended) = attempt.as_mut().poll(cx) {
                drop(attempts.swap_remove(index));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    })
    .await
}

// How to have an address that drops what is sent to it is known of this system only.
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::time::Instant;

    use socket2::{Domain, Socket, Type};
    use tokio::net::TcpListener;

    use super::*;

    /// An address that drops what is sent to it: nobody takes what waits in its queue.
    async fn silent() -> (SocketAddr, Socket, Vec<TcpStream>) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(&any.into()).unwrap();
        socket.listen(0).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        let mut waiting = Vec::new();
        let connect = || tokio::time::timeout(PATIENCE, TcpStream::connect(address));
        while let Ok(stream) = connect().await {
            waiting.push(stream.unwrap());
        }
        (address, socket, waiting)
    }

    async fn refuses() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    #[tokio::test]
    async fn an_address_that_says_nothing_is_no_reason_to_miss_the_others() {
        let (silent, _socket, _waiting) = silent().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let refuses = refuses().await;
        for addresses in [
            &[good][..],
            &[good, silent],
            &[silent, good],
            &[silent, silent, good],
            &[silent, refuses, good],
            &[refuses, silent, good, silent],
        ] {
            let began = Instant::now();
            let stream = connect(addresses).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), good, "{addresses:?}");
            assert!(began.elapsed() < 4 * PATIENCE, "{addresses:?}");
        }
    }

    #[tokio::test]
    async fn without_anybody_it_is_told_why() {
        let refuses = refuses().await;
        for (addresses, why) in [
            (&[][..], io::ErrorKind::NotFound),
            (&[refuses], io::ErrorKind::ConnectionRefused),
            (&[refuses, refuses], io::ErrorKind::ConnectionRefused),
        ] {
            assert_eq!(connect(addresses).await.unwrap_err().kind(), why);
        }
    }
}
