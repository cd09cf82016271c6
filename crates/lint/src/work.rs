//! Counts the steps of loops that other loops run, in tests only: a test can then tell linear work from
//! quadratic without a clock.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// One step.
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

#[cfg(test)]
mod tests {
    use super::STEPS;
    use crate::{Checked, Linter, RuleSet};

    fn steps(linter: &Linter, path: &str, text: &str) -> usize {
        STEPS.with(|steps| steps.set(0));
        let checked = linter.check(path, text.as_bytes(), &Default::default());
        assert!(matches!(checked, Checked::Judged(_)), "{checked:?}");
        STEPS.with(std::cell::Cell::get)
    }

    #[test]
    fn work_grows_with_the_text() {
        let linter = Linter::new(RuleSet::builtin().unwrap());
        let yaml = "promptfooconfig.yaml";
        let cases = [
            ("values", "a.j2", "", "{{ now }} You are a clerk.\n"),
            (
                "ifs",
                "a.j2",
                "",
                "{% if a %}You are a clerk of the town hall who answers politely.\n{% endif %}\n",
            ),
            (
                "loops",
                "a.j2",
                "",
                "{% for m in messages %}{{ m }}{% endfor %}\n",
            ),
            (
                "turns",
                "a.j2",
                "{% for m in messages %}",
                "{% if loop.last %}x{% endif %}{% for t in x %}{% endfor %}",
            ),
            (
                "values in YAML",
                yaml,
                "prompts:\n- |\n",
                "  {{ now }} You are a clerk.\n",
            ),
            (
                "comments",
                yaml,
                "prompts:\n",
                "- hi {{ a }}\n# headwater: ignore[HW201] x\n",
            ),
            ("trailing spaces", yaml, "prompts:\n- |\n", "  You are \n"),
            ("invisible", yaml, "prompts:\n- |\n  ", "a\u{200b}"),
        ];
        for (name, path, head, line) in cases {
            let end = if name == "turns" { "{% endfor %}" } else { "" };
            let of =
                |lines: usize| steps(&linter, path, &format!("{head}{}{end}", line.repeat(lines)));
            let (few, many) = (of(100), of(800));
            assert!(
                many <= 12 * few.max(100),
                "{name}: {few} steps, then {many}"
            );
        }
    }
}
