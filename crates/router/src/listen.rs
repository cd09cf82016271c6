//! Sockets that listen: one for each serving thread, all on one address.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

const BACKLOG: i32 = 4_096;

/// Whether others may listen on the same address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Port {
    Alone,
    Shared,
}

/// One listener, non-blocking. Port 0 takes a free one.
pub(crate) fn one(address: SocketAddr) -> io::Result<TcpListener> {
    open(address, Port::Alone)
}

/// As many listeners on one address; the kernel deals connections out to them.
pub(crate) fn many(address: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    if count <= 1 {
        return Ok(vec![one(address)?]);
    }
    if address.port() != 0 {
        // A port that is shared among threads is shared with a second router just as well,
        // and nobody would notice. Taking it alone first finds that out.
        drop(one(address)?);
    }
    let first = open(address, Port::Shared)?;
    let address = first.local_addr()?;
    let mut listeners = vec![first];
    for _ in 1..count {
        listeners.push(open(address, Port::Shared)?);
    }
    Ok(listeners)
}

fn open(address: SocketAddr, port: Port) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    #[cfg(unix)]
    socket.set_reuse_port(port == Port::Shared)?;
    socket.set_nonblocking(true)?;
    // Accepted connections inherit it.
    keep_alive(&socket)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Has the system ask the other side of a silent connection now and then whether it is still there:
/// a host that vanishes says no word, and who waits for it would wait for ever.
pub(crate) fn keep_alive(socket: &Socket) -> io::Result<()> {
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    socket.set_tcp_keepalive(&keepalive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_a_port_but_routers_do_not() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listeners = many(any, 3).unwrap();
        let address = listeners[0].local_addr().unwrap();
        assert!(listeners.iter().all(|l| l.local_addr().unwrap() == address));
        let taken = many(address, 3).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(listeners);
        assert!(many(address, 2).is_ok());
    }

    #[test]
    fn whoever_connects_is_asked_now_and_then_whether_it_is_there() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = one(any).unwrap();
        listener.set_nonblocking(false).unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (served, _) = listener.accept().unwrap();
        let served = socket2::SockRef::from(&served);
        assert!(served.keepalive().unwrap());
        assert_eq!(
            served.tcp_keepalive_time().unwrap(),
            Duration::from_secs(30)
        );
        drop(client);
    }
}
