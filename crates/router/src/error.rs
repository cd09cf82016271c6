//! What can keep the router from starting, with the place and the next step.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// A configuration that cannot be used.
///
/// `Display` is `file:line:column: path: what is wrong; what to do`, as far as known.
#[derive(Debug)]
pub struct ConfigError {
    origin: String,
    position: Option<(usize, usize)>,
    path: String,
    message: String,
}

impl ConfigError {
    /// Line and column, both from 1.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position
    }

    /// The setting, such as `workers[1].weight`; empty if it is about the whole file.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn of_argument(argument: &str, message: String) -> Self {
        Self {
            origin: argument.to_owned(),
            position: None,
            path: String::new(),
            message,
        }
    }

    pub(crate) fn of_place(
        origin: &str,
        path: &str,
        position: Option<(usize, usize)>,
        message: String,
    ) -> Self {
        Self {
            path: path.to_owned(),
            position,
            ..Self::of_argument(origin, message)
        }
    }

    pub(crate) fn of_file(origin: &str, path: &str, error: &serde_yaml::Error) -> Self {
        let path = if path == "." { "" } else { path };
        let position = error.location().map(|at| (at.line(), at.column()));
        Self::of_place(
            origin,
            path,
            position,
            in_words(message_alone(&error.to_string())),
        )
    }
}

/// The reader's message without the place that it appends and the path that it prepends: both
/// stand before it already.
fn message_alone(text: &str) -> String {
    let text = match text.rfind(" at line ") {
        Some(at) => &text[..at],
        None => text,
    };
    let path_end = text.find(": ").filter(|at| {
        let is_path = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
        text[..*at].chars().all(is_path)
    });
    let text = path_end.map_or(text, |at| &text[at + 2..]);
    if text.ends_with("found character that cannot start any token") {
        // Whoever does not know YAML well meets this first.
        return format!("{text}; indent with spaces, as YAML knows no tabs");
    }
    text.to_owned()
}

/// What the reader calls things, and what they are called in a file.
const IN_WORDS: [(&str, &str); 6] = [
    ("unit value", "nothing"),
    ("a sequence", "a list (`- …`)"),
    ("type: sequence", "type: a list"),
    ("type: map", "type: settings"),
    ("a nonzero usize", "a whole number of 1 or more"),
    ("a nonzero u16", "a whole number from 1 to 65535"),
];

/// The message without the names of our types.
fn in_words(mut text: String) -> String {
    for (from, to) in IN_WORDS {
        text = text.replace(from, to);
    }
    match text.find("expected struct ") {
        Some(at) => {
            text.truncate(at);
            text + "expected settings under it (`name: value`), or leave it away"
        }
        None => text,
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl Error for ConfigError {}

/// Why the router could not start or go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum RouterError {
    /// An address could not be taken.
    Bind {
        /// Which setting it is of.
        setting: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The token of the admin port cannot be used.
    AdminToken {
        /// Why, and what to do. The token is not in it.
        message: String,
    },
    /// The settings of the placement are out of range.
    Placement {
        /// Which and how.
        message: String,
    },
    /// A thread or its runtime could not be made.
    Thread {
        /// Why.
        source: io::Error,
    },
    /// A certificate or a key cannot be used.
    Tls {
        /// Which and why.
        message: String,
    },
}

impl fmt::Display for RouterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind {
                setting,
                address,
                source,
            } => write!(
                f,
                "cannot listen on `{address}` (`{setting}`): {source}; stop what uses it or choose another address"
            ),
            Self::AdminToken { message } => write!(f, "admin_token_file: {message}"),
            Self::Placement { message } => write!(f, "placement: {message}"),
            Self::Thread { source } => {
                write!(f, "cannot start a thread: {source}; lower `threads`")
            }
            Self::Tls { message } => write!(f, "TLS: {message}"),
        }
    }
}

impl Error for RouterError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its words stand in the message already, before what to do.
            Self::Bind { .. } | Self::Thread { .. } => None,
            Self::AdminToken { .. } | Self::Placement { .. } | Self::Tls { .. } => None,
        }
    }
}
