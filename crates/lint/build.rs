//! Embeds the folder of rules, so that adding a rule is adding a file.

use std::{env, fmt::Write as _, fs, io, path::Path};

#[expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a build script reads its environment and speaks to cargo on stdout"
)]
fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("../../lint-rules").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".yaml") {
            names.push(name);
        }
    }
    names.sort();
    let mut code = String::from("&[\n");
    for name in names {
        let path = folder.join(&name);
        writeln!(code, "({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    code.push(']');
    fs::write(Path::new(&out).join("rules.rs"), code)
}
