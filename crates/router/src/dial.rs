//! Opens connections to workers: TCP, TLS where the URL says so, and what is spoken in it.

use std::io;
use std::net::SocketAddr;

use rustls::pki_types::ServerName;
use socket2::SockRef;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsStream;

use crate::connect::connect;
use crate::endpoint::Endpoint;
use crate::listen;
use crate::spoken::Spoken;
use crate::tls::{Offer, WorkerTls};
use crate::transport::Transport;
use crate::worker_url::Scheme;

/// A new connection to a worker, and what the worker speaks.
pub(crate) async fn dial(
    endpoint: &Endpoint,
    tls: &WorkerTls,
    offer: Offer,
) -> io::Result<(Transport, Spoken)> {
    let stream = open(endpoint).await?;
    stream.set_nodelay(true)?;
    listen::keep_alive(&SockRef::from(&stream))?;
    match endpoint.url.scheme() {
        Scheme::Http => Ok((Transport::Plain(stream), Spoken::Http1)),
        Scheme::H2c => Ok((Transport::Plain(stream), Spoken::Http2)),
        Scheme::Https => secure(stream, endpoint, tls, offer).await,
    }
}

async fn open(endpoint: &Endpoint) -> io::Result<TcpStream> {
    match endpoint.address {
        Some(address) => TcpStream::connect(address).await,
        None => {
            let host = (endpoint.url.host(), endpoint.url.port());
            let addresses: Vec<SocketAddr> = lookup_host(host).await?.collect();
            Box::pin(connect(&addresses)).await
        }
    }
}

async fn secure(
    stream: TcpStream,
    endpoint: &Endpoint,
    tls: &WorkerTls,
    offer: Offer,
) -> io::Result<(Transport, Spoken)> {
    let connector = tls.connector(offer).map_err(io::Error::other)?;
    let name = ServerName::try_from(endpoint.url.host().to_owned()).map_err(io::Error::other)?;
    let stream = Box::pin(connector.connect(name, stream)).await?;
    let spoken = Spoken::of_alpn(stream.get_ref().1.alpn_protocol());
    let stream = Box::new(TlsStream::Client(stream));
    Ok((Transport::Tls(stream), spoken))
}
