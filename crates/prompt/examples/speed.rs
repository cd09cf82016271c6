//! Times the signing of one chat with a real vocabulary, for tests/tokenizers/speed.sh.
//!
//! The chat is a JSON file: `{"system": text, "turns": [text, …], "next": text}`, users first. A
//! line on the input is the name of a measurement; the answer is microseconds, and for `sign` those
//! outside the tokenizer behind them.

use std::cell::Cell;
use std::error::Error;
use std::io::{BufRead, Write};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use headwater::{
    Chat, Conversation, HfTokenizer, Prepared, Seam, SignOptions, SpecialTokens, Tokenize,
    TokenizeError, Tokens, Turn,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(serde::Deserialize)]
struct File {
    system: String,
    turns: Vec<String>,
    next: String,
}

/// A tokenizer that keeps the time of what it is asked to encode.
struct Timed {
    inner: HfTokenizer,
    spent: Cell<Duration>,
}

impl Tokenize for Timed {
    fn identity(&self) -> String {
        self.inner.identity()
    }

    fn special_tokens(&self) -> SpecialTokens {
        self.inner.special_tokens()
    }

    fn seam(&self, next: Option<&str>) -> Seam {
        self.inner.seam(next)
    }

    fn encode(
        &self,
        text: &str,
        markers: &[Range<usize>],
    ) -> std::result::Result<Tokens, TokenizeError> {
        let start = Instant::now();
        let tokens = self.inner.encode(text, markers);
        self.spent.set(self.spent.get() + start.elapsed());
        tokens
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(vocabulary), Some(chat)) = (arguments.next(), arguments.next()) else {
        return Err("usage: speed TOKENIZER.JSON CHAT.JSON".into());
    };
    let load = |threads: usize| -> Result<HfTokenizer> {
        let tokenizer = HfTokenizer::from_file(Path::new(&vocabulary), SpecialTokens::Omitted)?;
        // Without its cache, or the second run would not be cold.
        let threads = NonZeroUsize::new(threads).ok_or("no threads")?;
        Ok(tokenizer.cache_bytes(0).threads(threads))
    };
    let timed = Timed {
        inner: load(1)?,
        spent: Cell::default(),
    };
    let two = load(2)?;
    let whole = tokenizers::Tokenizer::from_file(&vocabulary).map_err(|error| error.to_string())?;
    let file: File = serde_json::from_slice(&std::fs::read(&chat)?)?;
    let options = SignOptions::default();
    let text = file
        .chat()
        .prompt()?
        .sign(&two, &options)?
        .text()
        .to_owned();
    let mut talk = file.conversation(load(1)?)?;

    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        timed.spent.set(Duration::ZERO);
        let chat = file.chat();
        let mut apart = talk.clone();
        if line == "next" {
            // A clone shares its text, and the first to write pays for a copy.
            apart.push(Turn::assistant("Yes."))?;
            apart.sign()?;
        }
        let start = Instant::now();
        let tokens = match line.as_str() {
            "sign" => chat.prompt()?.sign(&timed, &options)?.tokens() as usize,
            "sign2" => chat.prompt()?.sign(&two, &options)?.tokens() as usize,
            "encode" => {
                let encoding = whole.encode(text.as_str(), false);
                encoding.map_err(|error| error.to_string())?.len()
            }
            "next" => apart.ask(file.next.as_str())?.tokens() as usize,
            other => return Err(format!("no measurement `{other}`").into()),
        };
        let all = start.elapsed();
        let rest = all.saturating_sub(timed.spent.get());
        writeln!(out, "{} {} {tokens}", all.as_micros(), rest.as_micros())?;
        out.flush()?;
    }
    drop(talk.sign()?);
    Ok(())
}

impl File {
    fn chat(&self) -> Chat {
        let turns = self.turns.iter().enumerate();
        turns.fold(Chat::new().system(self.system.as_str()), |chat, turn| {
            chat.turn(turn_of(turn))
        })
    }

    fn conversation(&self, tokenizer: HfTokenizer) -> Result<Conversation> {
        let chat = Chat::new().system(self.system.as_str());
        let mut talk = Prepared::new(chat, tokenizer, SignOptions::default())?.conversation();
        for turn in self.turns.iter().enumerate() {
            talk.push(turn_of(turn))?;
        }
        talk.sign()?;
        Ok(talk)
    }
}

fn turn_of((index, text): (usize, &String)) -> Turn {
    if index.is_multiple_of(2) {
        Turn::user(text.as_str()).into()
    } else {
        Turn::assistant(text.as_str()).into()
    }
}
