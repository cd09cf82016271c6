//! Canonical text for prompts: the same words are the same bytes, whoever saved the file.
//!
//! Engines cache a prompt by its exact tokens. One carriage return, one no-break space pasted
//! from a web page, one accent typed as two characters, and everything after it is computed
//! anew, though no reader can see a difference. And what nobody can see can also carry orders
//! to a model. This crate finds such characters, knows where they mean something (a joiner in
//! a family emoji, a non-joiner in Persian, a narrow space in French), and takes the others
//! away.
//!
//! ```text
//!              table: which characters     context: what they mean here
//!                        \                  /
//! text ──────────────────► inspect ─────────────────► [Sighting]        the linter
//!                             │
//!                             ▼ decisions
//!      newline → bom → control → invisible → space → nfc → line ends → segment end
//!                             │                    (again until nothing changes)
//!                             ▼
//!                          Cleaned { text, changes, warnings }          the SDK
//! ```
//!
//! ```
//! use headwater_text::{Profile, Step, clean, inspect, shown};
//!
//! let text = "\u{FEFF}You answer for the cafe\u{301}.  \r\nOuvert\u{202F}?";
//! assert_eq!(shown(text), "⟨U+FEFF⟩You answer for the cafe\u{301}.  ⟨U+000D⟩\nOuvert⟨U+202F⟩?");
//!
//! let cleaned = clean(text, Profile::Strict)?;
//! assert_eq!(cleaned.text, "You answer for the caf\u{E9}.\nOuvert\u{202F}?\n");
//! assert_eq!(cleaned.count(Step::Nfc), 1);
//! let account: Vec<String> = cleaned.changes.iter().map(ToString::to_string).collect();
//! assert_eq!(account[0], "1:1: bom: remove ⟨U+FEFF⟩ ZERO WIDTH NO-BREAK SPACE");
//!
//! // What nobody may take away unasked is an error in an author's text …
//! let tagged = "Be kind.\u{E0041}";
//! let error = clean(tagged, Profile::Strict).unwrap_err();
//! assert_eq!(error.sightings[0].to_string(), "1:9: ⟨U+E0041⟩ TAG CHARACTER");
//! // … and goes from a user's, who must not be able to make a request fail.
//! assert_eq!(clean(tagged, Profile::Dynamic)?.text, "Be kind.");
//!
//! // The linter sees the same decisions.
//! assert_eq!(inspect(tagged)[0].class.as_str(), "tag");
//! # Ok::<(), headwater_text::CleanError>(())
//! ```
//!
//! | step | strict (what an author wrote) | dynamic (what a user sent) | fenced code in strict |
//! |---|---|---|---|
//! | newline | CRLF, CR, NEL, LS, PS → LF | the same | the same |
//! | bom | removed | removed | removed |
//! | dangerous | error | removed | error |
//! | control | removed | – | warning |
//! | invisible | removed unless meant | – | warning (bidi marks: removed) |
//! | space | → U+0020 unless meant | – | warning |
//! | nfc | composed, never NFKC | – | – |
//! | trailing space | removed | – | – |
//! | segment start | blank lines removed ([`clean_following`]) | – | |
//! | segment end | exactly one LF; empty text stays empty | – | exactly one LF |
//!
//! A dash means untouched. Fences spare an author's code only: what a user sent is judged alike
//! in and out of them.
//!
//! `dangerous` is: tags outside flags, bidi embeddings and overrides, isolates, NUL and ESC.
//! Strict text is refused for noncharacters, annotation marks and Hangul fillers too; in
//! dynamic text those are warnings.
//!
//! Laws, held by property tests: cleaning twice is cleaning once; characters outside the table
//! change by NFC only; spans and positions are those of the input.
//!
//! Never here: files, clocks, randomness, hash maps, widths of screens, confusable letters.

// Where, and which characters.
mod position;
mod table;

// The way from one character that matters to the next.
mod plain;

// What they mean where they stand.
mod context;
mod layout;
mod scene;
mod script;

// What was seen.
mod inspect;
mod sighting;

// What is done about it, for whom, and the account of it.
mod clean;
mod crlf;
mod draft;
mod outcome;
mod profile;
mod steps;

mod shown;

pub use clean::{clean, clean_following};
pub use inspect::inspect;
pub use outcome::{Change, CleanError, Cleaned, Step};
pub use position::{LineTable, Position, Span};
pub use profile::{PROFILE_VERSION, Profile, profile_identity};
pub use shown::shown;
pub use sighting::{Action, Class, Safety, Sighting};
pub use table::name;
