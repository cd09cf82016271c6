//! Lists the prompts in files: `cargo run --example prompts -- FILE…`
//!
//! For each one its language, how much static text follows the first value, and what was not understood.

use std::{env, fs, time::Instant};

use headwater_template::{PieceKind, read};

fn main() {
    let paths: Vec<String> = env::args().skip(1).collect();
    let files: Vec<(String, Vec<u8>)> = paths
        .into_iter()
        .filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes)))
        .collect();
    let start = Instant::now();
    let documents: Vec<_> = files
        .iter()
        .map(|(path, bytes)| (path, read(path, bytes, &|name| fs::read(name).ok())))
        .collect();
    let taken = start.elapsed();
    for (path, document) in documents {
        match document {
            Err(error) => println!("{path}: {error}"),
            Ok(document) => {
                println!("{path}: {}", document.format.as_str());
                for note in &document.notes {
                    let place = document.file.position(note.span.start);
                    println!("  {place}: {}", note.message);
                }
                for template in &document.templates {
                    let values = |kind: &PieceKind| !matches!(kind, PieceKind::Text);
                    let first = template.pieces().iter().find(|piece| values(&piece.kind));
                    let after = first.map_or(0, |piece| piece.static_bytes_after);
                    println!(
                        "  {} pieces, {after} static bytes behind the first value, {} variants",
                        template.pieces().len(),
                        template.variants()
                    );
                    for problem in template.problems() {
                        let place = template.source().position(problem.span.start);
                        println!("  {place}: {}", problem.message);
                    }
                }
            }
        }
    }
    println!("{} files read in {taken:?}", files.len());
}
