//! Operators change the workers: add, remove, drain, undrain, weight.

use std::iter;

use bytes::Bytes;
use hyper::StatusCode;

use crate::admin_answer::{self, Answer, Refusal};
use crate::config::WorkerConfig;
use crate::config_whole;
use crate::member::Service;
use crate::model_pool::{self, ModelPool, PoolId};
use crate::shared::Shared;

/// `POST /workers?pool=NAME`: adds one, given as the configuration has it.
pub(crate) fn add(shared: &Shared, query: &str, body: &Bytes) -> Result<Answer, Refusal> {
    let text = str::from_utf8(body)
        .map_err(|_| Refusal::bad_request("the body is not UTF-8; send JSON"))?;
    if text.trim().is_empty() {
        let hint = "the body is empty; send a URL or `{url, weight, name}`";
        return Err(Refusal::bad_request(hint));
    }
    let worker = WorkerConfig::parse(text, "body")
        .map_err(|error| Refusal::bad_request(error.to_string()))?;
    let listen = shared.config.listen;
    let admin = shared.config.admin;
    let admin = admin.or_else(|| config_whole::default_admin(listen));
    let mut own = iter::once(listen).chain(admin);
    if own.any(|own| config_whole::is_itself(own, &worker.url)) {
        return Err(Refusal::bad_request(config_whole::ITSELF));
    }
    let wanted = value_of(query, "pool").unwrap_or_else(|| model_pool::DEFAULT.to_owned());
    let pool = shared.pools().iter().position(|pool| pool.name == wanted);
    let pool = pool.map(PoolId).ok_or_else(|| {
        let hint = "there is no pool of that name; the configuration lists them";
        Refusal::new(StatusCode::NOT_FOUND, "no_such_pool", hint)
    })?;
    if !shared.add_worker(pool, &worker) {
        let hint =
            "a worker of that name or address is there already; `POST /weight` changes its weight";
        return Err(Refusal::new(StatusCode::CONFLICT, "name_taken", hint));
    }
    tracing::info!(worker = worker.name, "worker added by an operator");
    let added = serde_json::json!({"worker": worker.name, "url": worker.url.to_string()});
    Ok(admin_answer::json(StatusCode::CREATED, &added))
}

/// `DELETE /workers?worker=NAME`: no more requests for it; its streams go on.
pub(crate) fn remove(shared: &Shared, query: &str) -> Result<Answer, Refusal> {
    let name = name_of(query)?;
    let gone = shared.remove_worker(&name);
    gone.ok_or_else(Refusal::no_such_worker)?;
    tracing::info!(worker = name, "worker removed by an operator");
    done(&name)
}

/// `POST /drain` and `/undrain`.
pub(crate) fn set_service(
    shared: &Shared,
    query: &str,
    service: Service,
) -> Result<Answer, Refusal> {
    let name = name_of(query)?;
    let at = shared.now();
    let set = pool_of(shared, &name)?
        .roster()
        .set_service(at, &name, service);
    set.ok_or_else(Refusal::no_such_worker)?;
    let word = match service {
        Service::In => "undrained",
        Service::Drained => "drained",
    };
    tracing::info!(worker = name, "worker {word} by an operator");
    done(&name)
}

/// `POST /weight?worker=NAME&weight=W`.
pub(crate) fn set_weight(shared: &Shared, query: &str) -> Result<Answer, Refusal> {
    let name = name_of(query)?;
    let weight = value_of(query, "weight").and_then(|text| text.parse::<f64>().ok());
    let weight = weight.filter(|weight| (0.001..=1000.0).contains(weight));
    let weight = weight.ok_or_else(|| Refusal::bad_request("say `&weight=` with 0.001 to 1000"))?;
    let at = shared.now();
    let set = pool_of(shared, &name)?
        .roster()
        .set_weight(at, &name, weight);
    set.ok_or_else(Refusal::no_such_worker)?;
    tracing::info!(worker = name, weight, "weight set by an operator");
    done(&name)
}

fn pool_of<'a>(shared: &'a Shared, name: &str) -> Result<&'a ModelPool, Refusal> {
    shared.pool_with(name).ok_or_else(Refusal::no_such_worker)
}

fn done(name: &str) -> Result<Answer, Refusal> {
    let done = serde_json::json!({"worker": name, "done": true});
    Ok(admin_answer::json(StatusCode::OK, &done))
}

fn name_of(query: &str) -> Result<String, Refusal> {
    value_of(query, "worker").ok_or_else(|| {
        Refusal::bad_request("say which: `?worker=NAME`, as `GET /state` lists them")
    })
}

/// A value of a query, decoded; nothing if it is empty or makes no sense.
pub(crate) fn value_of(query: &str, key: &str) -> Option<String> {
    let value = query
        .split('&')
        .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))?;
    let mut name = Vec::new();
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(name).ok().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_is_no_worker_of_its_own() {
        for (admin, workers) in [
            ("", [("8080", false), ("9080", false), ("9081", true)]),
            (
                "admin: '127.0.0.1:9081',",
                [("8080", false), ("9080", true), ("9081", false)],
            ),
        ] {
            let yaml = format!("{{listen: '127.0.0.1:8080', {admin} workers: ['http://a:1']}}");
            let config = crate::config::Config::parse(&yaml, "test").unwrap();
            let shared = Shared::new(config).unwrap();
            for (port, is_added) in workers {
                let body = Bytes::from(format!("http://127.0.0.1:{port}"));
                assert_eq!(add(&shared, "", &body).is_ok(), is_added, "{admin} {port}");
            }
        }
    }

    #[test]
    fn a_value_is_named_in_the_query() {
        let check = |query, expected: Option<&str>| {
            assert_eq!(value_of(query, "worker").as_deref(), expected, "{query}");
        };
        check("worker=127.0.0.1:8001", Some("127.0.0.1:8001"));
        check("x=1&worker=a%3A1", Some("a:1"));
        check("workers=a", None);
        check("worker=", None);
        check("worker=%4", None);
        check("worker=%zz", None);
        check("", None);
    }
}
