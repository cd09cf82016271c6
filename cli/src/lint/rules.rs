//! The rules of a run: the built-in ones, and folders of one's own.

use std::{fs, path::Path};

use anyhow::Context as _;
use headwater_lint::{Rule, RuleSet};

/// The built-in rules and those of the folders.
///
/// # Errors
/// A folder cannot be read or holds no rule, or a rule is wrong; the error names the place.
pub(crate) fn load_rules<'p>(folders: impl Iterator<Item = &'p Path>) -> anyhow::Result<RuleSet> {
    let mut rules = RuleSet::builtin().context("a built-in rule is broken")?;
    for folder in folders {
        add(&mut rules, folder)?;
    }
    Ok(rules)
}

fn add(rules: &mut RuleSet, folder: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder of rules {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("cannot read {}", folder.display()))?
            .path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            files.push(path);
        }
    }
    files.sort();
    anyhow::ensure!(
        !files.is_empty(),
        "no rule in {}; a rule is a file NAME.yaml",
        folder.display()
    );
    for path in files {
        let origin = path.display().to_string();
        let yaml =
            fs::read_to_string(&path).with_context(|| format!("cannot read the rule {origin}"))?;
        rules.add(Rule::parse(&yaml, &origin)?, &origin)?;
    }
    Ok(())
}
