//! Asks name servers for addresses and services, and for how long an answer is good.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use simple_dns::rdata::{OPT, RData};
use simple_dns::{CLASS, Name, Packet, PacketFlag, QTYPE, Question, RCODE, TYPE};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::resolv_conf::ResolvConf;

/// What fits into one datagram on every network.
const DATAGRAM: u16 = 1_232;

/// How long one server may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where to ask.
pub(crate) struct Resolver(ResolvConf);

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer<T> {
    /// Empty: the name is known to stand for nothing.
    pub(crate) records: Vec<T>,
    /// How long this is good.
    pub(crate) lifetime: Duration,
}

/// One service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) priority: u16,
    pub(crate) weight: u16,
    pub(crate) port: u16,
    pub(crate) target: String,
}

impl Resolver {
    /// Asks this server, or those of the system.
    pub(crate) fn new(server: Option<SocketAddr>) -> Self {
        Self(match server {
            Some(server) => ResolvConf::of_server(server),
            None => ResolvConf::of_system(),
        })
    }

    /// IPv4 addresses, or IPv6 ones where there are none.
    pub(crate) async fn addresses(&self, name: &str) -> io::Result<Answer<IpAddr>> {
        let found = self.ask(name, &[TYPE::A, TYPE::AAAA]).await?;
        Ok(found.map(|data| match data {
            Data::Address(address) => Some(address),
            Data::Service(_) => None,
        }))
    }

    pub(crate) async fn services(&self, name: &str) -> io::Result<Answer<Service>> {
        let found = self.ask(name, &[TYPE::SRV]).await?;
        Ok(found.map(|data| match data {
            Data::Service(service) => Some(service),
            Data::Address(_) => None,
        }))
    }

    /// Tries the name under each search domain, as `/etc/resolv.conf` says, and each of these
    /// kinds of records in turn. A domain whose servers fail hides no name of another one; but
    /// where nothing was found, what failed may be what has the name.
    async fn ask(&self, name: &str, kinds: &[TYPE]) -> io::Result<Answer<Data>> {
        let mut empty = None;
        let mut failure = None;
        for name in self.0.full_names(name) {
            for kind in kinds {
                match self.ask_servers(&name, *kind).await {
                    Ok(answer) if !answer.records.is_empty() => return Ok(answer),
                    Ok(answer) => {
                        empty.get_or_insert(answer);
                    }
                    Err(error) => {
                        failure.get_or_insert(error);
                        // The next kind counts only where there is none of this one.
                        break;
                    }
                }
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        empty.ok_or_else(|| io::Error::other("no name to ask for"))
    }

    async fn ask_servers(&self, name: &str, kind: TYPE) -> io::Result<Answer<Data>> {
        let mut last = io::Error::other("no name server is configured");
        for server in &self.0.servers {
            match timeout(PATIENCE, ask_server(*server, name, kind)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }
}

impl<T> Answer<T> {
    fn map<U>(self, to: impl FnMut(T) -> Option<U>) -> Answer<U> {
        Answer {
            records: self.records.into_iter().filter_map(to).collect(),
            lifetime: self.lifetime,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Data {
    Address(IpAddr),
    Service(Service),
}

async fn ask_server(server: SocketAddr, name: &str, kind: TYPE) -> io::Result<Answer<Data>> {
    let any = match server {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any).await?;
    // From here on only this server's datagrams come in.
    socket.connect(server).await?;
    let id = dice();
    let mut question = question(id, name, kind, Extension::Yes)?;
    let mut is_plain = false;
    socket.send(&question).await?;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let length = socket.recv(&mut buffer).await?;
        let datagram = buffer.get(..length).unwrap_or_default();
        match read(datagram, id, kind) {
            Some(Reading::Answer(answer)) => return Ok(answer),
            // It may not know of extensions (RFC 6891, 7), and understand the question without.
            Some(Reading::Misunderstood(_)) if !is_plain => {
                is_plain = true;
                question = self::question(id, name, kind, Extension::No)?;
                socket.send(&question).await?;
            }
            Some(Reading::Failure(error) | Reading::Misunderstood(error)) => return Err(error),
            Some(Reading::TooLong) => return ask_over_tcp(server, &question, id, kind).await,
            // Not an answer to this question; the right one may still come.
            None => {}
        }
    }
}

async fn ask_over_tcp(
    server: SocketAddr,
    question: &[u8],
    id: u16,
    kind: TYPE,
) -> io::Result<Answer<Data>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    stream.write_u16(length).await?;
    stream.write_all(question).await?;
    let length = stream.read_u16().await?;
    let mut message = vec![0; usize::from(length)];
    stream.read_exact(&mut message).await?;
    match read(&message, id, kind) {
        Some(Reading::Answer(answer)) => Ok(answer),
        Some(Reading::Failure(error) | Reading::Misunderstood(error)) => Err(error),
        Some(Reading::TooLong) | None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Whether a question says how long an answer may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extension {
    Yes,
    No,
}

fn question(id: u16, name: &str, kind: TYPE, extension: Extension) -> io::Result<Vec<u8>> {
    let name = Name::new(name).map_err(io::Error::other)?;
    let mut packet = Packet::new_query(id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    let class = simple_dns::QCLASS::CLASS(CLASS::IN);
    let asked = Question::new(name, QTYPE::TYPE(kind), class, false);
    packet.questions.push(asked);
    *packet.opt_mut() = (extension == Extension::Yes).then(|| OPT {
        opt_codes: Vec::new(),
        udp_packet_size: DATAGRAM,
        version: 0,
    });
    packet.build_bytes_vec().map_err(io::Error::other)
}

enum Reading {
    Answer(Answer<Data>),
    Failure(io::Error),
    Misunderstood(io::Error),
    TooLong,
}

/// Nothing where the message answers no question of ours.
fn read(message: &[u8], id: u16, kind: TYPE) -> Option<Reading> {
    let packet = Packet::parse(message).ok()?;
    if packet.id() != id || !packet.has_flags(PacketFlag::RESPONSE) {
        return None;
    }
    if packet.has_flags(PacketFlag::TRUNCATION) {
        return Some(Reading::TooLong);
    }
    match packet.rcode() {
        RCODE::NoError | RCODE::NameError => {}
        other => {
            let error = io::Error::other(format!("the name server answers {other:?}"));
            return Some(match other {
                RCODE::FormatError | RCODE::NotImplemented => Reading::Misunderstood(error),
                _ => Reading::Failure(error),
            });
        }
    }
    // Aliases come before what they lead to; only the latter is of this kind.
    let of_kind = packet.answers.iter().filter(|record| match &record.rdata {
        RData::A(_) => kind == TYPE::A,
        RData::AAAA(_) => kind == TYPE::AAAA,
        RData::SRV(_) => kind == TYPE::SRV,
        _ => false,
    });
    let seconds = of_kind.clone().map(|record| record.ttl).min().unwrap_or(0);
    let records = of_kind.filter_map(|record| data(&record.rdata)).collect();
    Some(Reading::Answer(Answer {
        records,
        lifetime: Duration::from_secs(seconds.into()),
    }))
}

fn data(record: &RData<'_>) -> Option<Data> {
    Some(match record {
        RData::A(a) => Data::Address(Ipv4Addr::from(a.address).into()),
        RData::AAAA(a) => Data::Address(Ipv6Addr::from(a.address).into()),
        RData::SRV(srv) => Data::Service(Service {
            priority: srv.priority,
            weight: srv.weight,
            port: srv.port,
            target: srv.target.to_string(),
        }),
        _ => return None,
    })
}

/// A number that nobody who does not see the question can guess.
fn dice() -> u16 {
    let [a, b, ..] = RandomState::new().build_hasher().finish().to_le_bytes();
    u16::from_le_bytes([a, b])
}

#[cfg(test)]
pub(crate) mod tests {
    use simple_dns::ResourceRecord;
    use simple_dns::rdata::{A, AAAA, SRV};

    use super::*;

    /// A name server that gives these records, and speaks only TCP after a first word. What is
    /// below `broken.test` makes it fail.
    pub(crate) async fn server(records: Vec<ResourceRecord<'static>>, cut: bool) -> SocketAddr {
        let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let udp = UdpSocket::bind(address).await.unwrap();
        let answers = records.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 2_000];
            loop {
                let (length, from) = udp.recv_from(&mut buffer).await.unwrap();
                let answer = answer(&buffer[..length], &answers, cut);
                // Noise first: another id, and what is no message at all.
                udp.send_to(b"noise", from).await.unwrap();
                let mut other = answer.clone();
                other[0] ^= 0xff;
                udp.send_to(&other, from).await.unwrap();
                udp.send_to(&answer, from).await.unwrap();
            }
        });
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = tcp.accept().await.unwrap();
                let length = stream.read_u16().await.unwrap();
                let mut question = vec![0; usize::from(length)];
                stream.read_exact(&mut question).await.unwrap();
                let answer = answer(&question, &records, false);
                let length = u16::try_from(answer.len()).unwrap();
                stream.write_u16(length).await.unwrap();
                stream.write_all(&answer).await.unwrap();
            }
        });
        address
    }

    fn answer(question: &[u8], records: &[ResourceRecord<'static>], cut: bool) -> Vec<u8> {
        let question = Packet::parse(question).unwrap();
        let asked = &question.questions[0];
        let mut packet = Packet::new_reply(question.id());
        packet.set_flags(PacketFlag::RESPONSE);
        packet.questions.push(asked.clone());
        if cut {
            packet.set_flags(PacketFlag::TRUNCATION);
        } else {
            let fits =
                |r: &&ResourceRecord<'_>| r.name == asked.qname && r.match_qtype(asked.qtype);
            packet.answers = records.iter().filter(fits).cloned().collect();
            if packet.answers.is_empty() {
                let fails = asked.qname.to_string().ends_with("broken.test");
                *packet.rcode_mut() = match fails {
                    true => RCODE::ServerFailure,
                    false => RCODE::NameError,
                };
            }
        }
        packet.build_bytes_vec().unwrap()
    }

    pub(crate) fn a(name: &'static str, ttl: u32, address: [u8; 4]) -> ResourceRecord<'static> {
        let address = u32::from(Ipv4Addr::from(address));
        let data = RData::A(A { address });
        ResourceRecord::new(Name::new_unchecked(name), CLASS::IN, ttl, data)
    }

    fn aaaa(name: &'static str, ttl: u32, address: Ipv6Addr) -> ResourceRecord<'static> {
        let address = address.into();
        let data = RData::AAAA(AAAA { address });
        ResourceRecord::new(Name::new_unchecked(name), CLASS::IN, ttl, data)
    }

    pub(crate) fn srv(
        name: &'static str,
        (priority, weight, port): (u16, u16, u16),
        target: &'static str,
    ) -> ResourceRecord<'static> {
        let data = RData::SRV(SRV {
            priority,
            weight,
            port,
            target: Name::new_unchecked(target),
        });
        ResourceRecord::new(Name::new_unchecked(name), CLASS::IN, 7, data)
    }

    #[tokio::test]
    async fn addresses_come_with_the_shortest_lifetime() {
        for cut in [false, true] {
            let records = vec![
                a("engines.test", 30, [127, 0, 0, 1]),
                a("engines.test", 5, [127, 0, 0, 2]),
                a("others.test", 1, [127, 0, 0, 3]),
            ];
            let resolver = Resolver::new(Some(server(records, cut).await));
            let found = resolver.addresses("engines.test").await.unwrap();
            assert_eq!(found.lifetime, Duration::from_secs(5));
            let expected = ["127.0.0.1", "127.0.0.2"].map(|ip| ip.parse::<IpAddr>().unwrap());
            assert_eq!(found.records, expected, "over TCP: {cut}");
            let nothing = resolver.addresses("nobody.test").await.unwrap();
            assert!(nothing.records.is_empty());
        }
    }

    #[tokio::test]
    async fn a_search_domain_that_fails_hides_no_name_of_another_one() {
        let records = vec![
            a("one.corp.test", 30, [127, 0, 0, 1]),
            aaaa("six.corp.test", 30, Ipv6Addr::LOCALHOST),
            srv("_http._tcp.corp.test", (1, 1, 8000), "one.test"),
        ];
        let mut conf = ResolvConf::parse("search broken.test corp.test");
        conf.servers = vec![server(records, false).await];
        let resolver = Resolver(conf);
        for (name, expected) in [("one", "127.0.0.1"), ("six", "::1")] {
            let found = resolver.addresses(name).await.unwrap();
            assert_eq!(found.records, [expected.parse::<IpAddr>().unwrap()]);
        }
        assert!(resolver.services("_http._tcp").await.is_ok());
        // It may be this domain that has it: to take the name for empty would be too much.
        let nothing = resolver.addresses("nobody").await.unwrap_err();
        assert!(nothing.to_string().contains("ServerFailure"), "{nothing}");
    }

    #[tokio::test]
    async fn a_server_that_knows_no_extensions_is_asked_without() {
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = udp.local_addr().unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 2_000];
            loop {
                let (length, from) = udp.recv_from(&mut buffer).await.unwrap();
                let records = [a("engines.test", 30, [127, 0, 0, 1])];
                let mut reply = answer(&buffer[..length], &records, false);
                // The count of additional records, of which the extension is one.
                if buffer[10..12] != [0, 0] {
                    reply[3] = 1;
                    reply[6..8].fill(0);
                    reply.truncate(length);
                }
                udp.send_to(&reply, from).await.unwrap();
            }
        });
        let found = Resolver::new(Some(address)).addresses("engines.test").await;
        assert_eq!(
            found.unwrap().records,
            ["127.0.0.1".parse::<IpAddr>().unwrap()]
        );
    }

    #[tokio::test]
    async fn services_have_a_port_and_a_weight() {
        let records = vec![srv("_http._tcp.test", (1, 20, 8000), "one.test")];
        let resolver = Resolver::new(Some(server(records, false).await));
        let found = resolver.services("_http._tcp.test").await.unwrap();
        assert_eq!(found.lifetime, Duration::from_secs(7));
        let expected = Service {
            priority: 1,
            weight: 20,
            port: 8000,
            target: "one.test".to_owned(),
        };
        assert_eq!(found.records, [expected]);
    }
}
