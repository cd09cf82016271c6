//! What an engine takes for its work: every constant of the service model, read from YAML.

use std::fmt;

use serde::Deserialize;

use crate::trace::Call;

/// The constants of one kind of engine. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Profile {
    /// What it is called in output.
    pub name: String,
    /// Prompts are prefilled one after the other.
    pub prefill: Prefill,
    /// Answers are written together, one token of each a step.
    pub decode: Decode,
    /// Requests that are answered at a time at most.
    pub max_running: u32,
    /// Tokens that the cache of a worker holds, unless the caller says otherwise.
    pub cache_tokens: u64,
}

/// `fixed + token · u + pair · u · (c + u / 2)` for u tokens to compute behind c cached ones.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Prefill {
    /// Milliseconds of any prefill.
    pub fixed_ms: f64,
    /// Milliseconds for each token to compute.
    pub token_ms: f64,
    /// Milliseconds for each pair of a token to compute and one that it attends to.
    pub pair_ms: f64,
    /// Tokens of one chunk: during a prefill, answers advance one step a chunk.
    pub chunk_tokens: u32,
}

/// `fixed + request · running + kv_token · tokens of the running` for one step.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Decode {
    /// Milliseconds of any step.
    pub fixed_ms: f64,
    /// Milliseconds for each running request.
    pub request_ms: f64,
    /// Milliseconds for each token that the running requests attend to.
    pub kv_token_ms: f64,
}

/// A profile cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfileError {
    /// What is wrong, with its place where there is one.
    pub message: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProfileError {}

/// Requests over which the fixed cost of a step is shared when work is estimated.
const SHARED_STEP: f64 = 16.0;

impl Profile {
    /// Names of the built-in profiles.
    pub const BUILT_IN: [&'static str; 2] = ["large", "small"];

    /// A built-in profile.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let text = match name {
            "large" => include_str!("../profiles/large.yaml"),
            "small" => include_str!("../profiles/small.yaml"),
            _ => return None,
        };
        Self::from_yaml(text).ok()
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// It is not YAML, has an unknown or missing key, or a number that cannot be.
    pub fn from_yaml(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = serde_yaml::from_str(text).map_err(|error| ProfileError {
            message: error.to_string(),
        })?;
        profile.check()?;
        Ok(profile)
    }

    /// A profile that needs no file: each token and each step takes a millisecond.
    pub(crate) fn flat() -> Self {
        Self {
            name: "flat".to_owned(),
            prefill: Prefill {
                fixed_ms: 1.0,
                token_ms: 1.0,
                pair_ms: 0.0,
                chunk_tokens: 2_048,
            },
            decode: Decode {
                fixed_ms: 1.0,
                request_ms: 0.0,
                kv_token_ms: 0.0,
            },
            max_running: 128,
            cache_tokens: 1_000_000,
        }
    }

    fn check(&self) -> Result<(), ProfileError> {
        let times = [
            ("prefill.fixed_ms", self.prefill.fixed_ms),
            ("prefill.token_ms", self.prefill.token_ms),
            ("prefill.pair_ms", self.prefill.pair_ms),
            ("decode.fixed_ms", self.decode.fixed_ms),
            ("decode.request_ms", self.decode.request_ms),
            ("decode.kv_token_ms", self.decode.kv_token_ms),
        ];
        let refuse = |message: String| Err(ProfileError { message });
        for (key, found) in times {
            if !(0.0..=1e6).contains(&found) {
                return refuse(format!("`{key}` is `{found}`: set it to 0 to 1e6 ms"));
            }
        }
        // Time must pass in each phase, or a simulation would never end.
        if self.prefill.fixed_ms + self.prefill.token_ms <= 0.0 {
            return refuse(
                "prefill takes no time: set `prefill.fixed_ms` or `prefill.token_ms`".into(),
            );
        }
        if self.decode.fixed_ms + self.decode.request_ms <= 0.0 {
            return refuse(
                "a decode step takes no time: set `decode.fixed_ms` or `decode.request_ms`".into(),
            );
        }
        for (key, found) in [
            ("prefill.chunk_tokens", u64::from(self.prefill.chunk_tokens)),
            ("max_running", u64::from(self.max_running)),
            ("cache_tokens", self.cache_tokens),
        ] {
            if found == 0 {
                return refuse(format!("`{key}` is `0`: set it to 1 or more"));
            }
        }
        Ok(())
    }

    /// Milliseconds to prefill a prompt of which so many tokens are cached.
    #[must_use]
    pub fn prefill_ms(&self, input_tokens: u32, cached_tokens: u32) -> f64 {
        let uncached = f64::from(input_tokens.saturating_sub(cached_tokens).max(1));
        let cached = f64::from(cached_tokens);
        let Prefill {
            fixed_ms,
            token_ms,
            pair_ms,
            ..
        } = self.prefill;
        fixed_ms + token_ms * uncached + pair_ms * uncached * (cached + uncached / 2.0)
    }

    /// Milliseconds of one decode step of so many requests that hold so many tokens.
    #[must_use]
    pub fn step_ms(&self, running: u32, kv_tokens: f64) -> f64 {
        let Decode {
            fixed_ms,
            request_ms,
            kv_token_ms,
        } = self.decode;
        fixed_ms + request_ms * f64::from(running) + kv_token_ms * kv_tokens
    }

    /// Milliseconds of a worker that a request takes, its answer in company of others.
    #[must_use]
    pub fn work_ms(&self, call: &Call, cached_tokens: u32) -> f64 {
        let step = self.decode.fixed_ms / SHARED_STEP
            + self.decode.request_ms
            + self.decode.kv_token_ms * f64::from(call.input_tokens);
        self.prefill_ms(call.input_tokens, cached_tokens) + f64::from(call.output_tokens) * step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_profiles_are_sound() {
        for name in Profile::BUILT_IN {
            assert_eq!(Profile::built_in(name).unwrap().name, name);
        }
        assert_eq!(Profile::built_in("medium"), None);
    }

    #[test]
    fn prefill_follows_its_formula() {
        let large = Profile::built_in("large").unwrap();
        let check = |input, cached, expected: f64| {
            let found = large.prefill_ms(input, cached);
            assert!((found - expected).abs() < 1e-9, "{input} {cached}: {found}");
        };
        check(1_000, 0, 8.0 + 60.0 + 6e-7 * 1_000.0 * 500.0);
        check(10_000, 9_000, 8.0 + 60.0 + 6e-7 * 1_000.0 * 9_500.0);
        // At least one token is computed.
        check(512, 512, 8.0 + 0.06 + 6e-7 * 512.5);
        assert!((large.step_ms(10, 50_000.0) - (12.0 + 0.8 + 1.0)).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let text = include_str!("../profiles/large.yaml");
        let check = |from: &str, to: &str, expected: &str| {
            let error = Profile::from_yaml(&text.replace(from, to))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("max_running: 128", "max_running: 0", "`max_running` is `0`");
        check(
            "token_ms: 0.06",
            "token_ms: -1",
            "`prefill.token_ms` is `-1`",
        );
        check("max_running: 128", "max_running: 128\nspeed: 3", "speed");
        check(
            "fixed_ms: 8",
            "fixed_ms: .nan",
            "`prefill.fixed_ms` is `NaN`",
        );
    }
}
