//! `--since REVISION`: which lines changed, as git tells.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;
use headwater_lint::Outcome;

/// Changed lines, by absolute path.
pub(super) struct Changes {
    files: BTreeMap<PathBuf, Lines>,
}

enum Lines {
    /// A file that git does not know yet.
    All,
    Some(Vec<RangeInclusive<usize>>),
}

impl Changes {
    /// Asks git what changed in the working tree since `revision`, or since it and HEAD parted.
    ///
    /// # Errors
    /// There is no git, no repository, or no such revision.
    pub(super) fn since(revision: &str) -> anyhow::Result<Self> {
        anyhow::ensure!(
            !revision.starts_with('-') && !revision.is_empty(),
            "--since `{revision}`: expected a git revision, such as origin/main"
        );
        let here = Path::new(".");
        let root = git(here, &["rev-parse", "--show-toplevel"])
            .context("--since needs a git repository")?;
        let root = PathBuf::from(root.trim_end_matches('\n'));
        let commit = format!("{revision}^{{commit}}");
        git(&root, &["rev-parse", "--verify", "--quiet", &commit]).with_context(|| {
            format!(
                "--since: git knows no revision `{revision}`; in CI it may have to be fetched first"
            )
        })?;
        // Without a common ancestor the revision itself is the start.
        let base = git(&root, &["merge-base", revision, "HEAD"]);
        let base = base.map_or(revision.to_owned(), |base| base.trim().to_owned());
        let options = [
            "-c",
            "core.quotePath=false",
            "diff",
            "--unified=0",
            "--no-color",
            "--no-ext-diff",
            "--no-renames",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            &base,
            "--",
        ];
        let mut files = parse(&git(&root, &options)?, &root);
        let unknown = git(&root, &["ls-files", "--others", "--exclude-standard", "-z"])?;
        let unknown = unknown.split('\0').filter(|name| !name.is_empty());
        files.extend(unknown.map(|name| (real(&root.join(name)), Lines::All)));
        Ok(Self { files })
    }

    /// Something in the file changed.
    pub(super) fn touch(&self, file: &Path) -> bool {
        self.files.contains_key(&real(file))
    }

    /// Keeps the findings that stand on changed lines.
    pub(super) fn keep(&self, outcome: &mut Outcome) {
        match self.files.get(&real(Path::new(&outcome.path))) {
            Some(Lines::All) => {}
            Some(Lines::Some(ranges)) => outcome.findings.retain(|finding| {
                let (first, last) = (finding.position.line, finding.end.line);
                let on =
                    |range: &RangeInclusive<usize>| *range.start() <= last && first <= *range.end();
                ranges.iter().any(on)
            }),
            None => outcome.findings.clear(),
        }
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn git(folder: &Path, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(args)
        .output()
        .context("cannot run git; is it installed?")?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let words = words.lines().next().unwrap_or("it failed").to_owned();
        anyhow::bail!("git {}: {words}", args.first().unwrap_or(&""));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads a diff without context: `+++ b/path`, then `@@ -1,2 +3,4 @@`.
fn parse(diff: &str, root: &Path) -> BTreeMap<PathBuf, Lines> {
    let mut files = BTreeMap::new();
    let mut current: Option<PathBuf> = None;
    // Lines of the new text that are still to come; they may look like headers.
    let mut body = 0_usize;
    for line in diff.lines() {
        if body > 0 && line.starts_with(['+', '-', '\\']) {
            body -= usize::from(!line.starts_with('\\'));
            continue;
        }
        if let Some(name) = line.strip_prefix("+++ ") {
            let name = name.trim_end_matches('\t');
            let name = name.strip_prefix('"').map_or(name.to_owned(), unquoted);
            current = name.strip_prefix("b/").map(|name| real(&root.join(name)));
        } else if let Some((old, new)) = hunk(line) {
            body = old.1 + new.1;
            if let Some(path) = current.as_ref().filter(|_| new.1 > 0) {
                let range = new.0..=new.0 + new.1 - 1;
                match files.entry(path.clone()).or_insert(Lines::Some(Vec::new())) {
                    Lines::Some(ranges) => ranges.push(range),
                    Lines::All => {}
                }
            }
        }
    }
    files
}

/// First line and number of lines, before and after.
fn hunk(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |text: &str| match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((pair(old)?, pair(new)?))
}

/// Git writes quotes, backslashes and control characters of a name as C does.
fn unquoted(quoted: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = quoted.bytes().peekable();
    while let Some(byte) = rest.next() {
        match (byte, rest.peek().copied()) {
            (b'"', _) => break,
            (b'\\', Some(b'0'..=b'7')) => {
                let digits: Vec<u8> = rest.by_ref().take(3).collect();
                let octal = String::from_utf8_lossy(&digits).into_owned();
                bytes.push(u8::from_str_radix(&octal, 8).unwrap_or(b'?'));
            }
            (b'\\', Some(escaped)) => {
                rest.next();
                bytes.push(match escaped {
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'r' => b'\r',
                    other => other,
                });
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_are_read() {
        let diff = "diff --git a/x.j2 b/x.j2\n--- a/x.j2\n+++ b/x.j2\n@@ -3 +3,2 @@ It is\n-+++ b/y.j2\n+@@ -1 +1 @@\n+new\n@@ -9,2 +10,0 @@\n-a\n-b\n--- a/z\n+++ \"b/a\\tb\\303\\251.j2\"\n@@ -0,0 +1 @@\n+x\n";
        let files = parse(diff, Path::new("/nowhere"));
        let shown: Vec<_> = files
            .iter()
            .map(|(path, lines)| match lines {
                Lines::All => format!("{} all", path.display()),
                Lines::Some(ranges) => format!("{} {ranges:?}", path.display()),
            })
            .collect();
        assert_eq!(
            shown,
            ["/nowhere/a\tb\u{e9}.j2 [1..=1]", "/nowhere/x.j2 [3..=4]"]
        );
    }
}
