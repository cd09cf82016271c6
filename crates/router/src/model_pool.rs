//! Workers of one model: which requests are theirs, and a roster of their own.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater_placement::Settings;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request;

use crate::config::Config;
use crate::config_pool::PoolConfig;
use crate::error::RouterError;
use crate::roster::Roster;

/// A pool's place in the list; the first is the one that nothing else matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolId(pub(crate) usize);

/// What the pool without a name is called in output.
pub(crate) const DEFAULT: &str = "default";

/// One pool.
pub(crate) struct ModelPool {
    pub(crate) name: String,
    rule: Rule,
    roster: Mutex<Roster>,
}

/// Which requests are a pool's: everything that is set must hold.
#[derive(Default)]
struct Rule {
    header: Option<(HeaderName, Vec<String>)>,
    path: Option<String>,
}

impl ModelPool {
    /// Every pool of a configuration, the default one first.
    pub(crate) fn of_config(config: &Config) -> Result<Vec<Self>, RouterError> {
        let settings = unpredictable(config.placement_settings());
        let mut pools = vec![Self {
            name: DEFAULT.to_owned(),
            rule: Rule::default(),
            roster: Mutex::new(Roster::new(settings, PoolId(0))?),
        }];
        for (index, pool) in config.pools.iter().enumerate() {
            let settings = unpredictable(config.settings_of(pool));
            pools.push(Self {
                name: pool.name.clone(),
                rule: Rule::of(pool),
                roster: Mutex::new(Roster::new(settings, PoolId(index + 1))?),
            });
        }
        Ok(pools)
    }

    /// The roster. Never held over an await, and only for as long as a decision takes.
    pub(crate) fn roster(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn takes(&self, head: &request::Parts) -> bool {
        self.rule.holds(head)
    }
}

/// Draws where the names that clients choose lie in the table of beliefs, so that nobody can aim
/// at one spot of it. Nothing else hangs on this number: homes and ties go by hashes that are the
/// same in every router.
fn unpredictable(settings: Settings) -> Settings {
    Settings {
        table_seed: RandomState::new().build_hasher().finish(),
        ..settings
    }
}

impl Rule {
    fn of(pool: &PoolConfig) -> Self {
        let header = pool.rule.header.as_ref();
        Self {
            header: header.and_then(|name| Some((name.parse().ok()?, pool.rule.values.clone()))),
            path: pool.rule.path.clone(),
        }
    }

    fn holds(&self, head: &request::Parts) -> bool {
        let header = self.header.as_ref().is_none_or(|(name, values)| {
            let value = head.headers.get(name).map(HeaderValue::as_bytes);
            value.is_some_and(|value| values.iter().any(|wanted| wanted.as_bytes() == value))
        });
        // A path is a whole folder: `/v2` is no prefix of `/v20`.
        let path = self.path.as_ref().is_none_or(|prefix| {
            let rest = head.uri.path().strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/')
            })
        });
        header && path
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn check(rule: &Rule, path: &str, model: Option<&str>, expected: bool) {
        let mut request = Request::builder().uri(path);
        if let Some(model) = model {
            request = request.header("x-model", model);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(rule.holds(&head), expected, "{path} {model:?}");
    }

    #[test]
    fn a_rule_is_a_header_a_path_or_both() {
        let header = || {
            let values = ["llama", "lora-a"].map(str::to_owned).to_vec();
            Some((HeaderName::from_static("x-model"), values))
        };
        let by_model = Rule {
            header: header(),
            path: None,
        };
        check(&by_model, "/v1", Some("llama"), true);
        check(&by_model, "/v1", Some("lora-a"), true);
        check(&by_model, "/v1", Some("Llama"), false);
        check(&by_model, "/v1", None, false);
        let by_path = Rule {
            header: None,
            path: Some("/v2".to_owned()),
        };
        check(&by_path, "/v2", None, true);
        check(&by_path, "/v2/chat?x=1", None, true);
        check(&by_path, "/v20", None, false);
        check(&by_path, "/", None, false);
        let both = Rule {
            header: header(),
            path: Some("/v2/".to_owned()),
        };
        check(&both, "/v2/chat", Some("llama"), true);
        check(&both, "/v2/chat", Some("x"), false);
        check(&both, "/v1/chat", Some("llama"), false);
    }
}
