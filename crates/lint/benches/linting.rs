//! How long a template of 4 KB takes, from bytes to findings, and how long the rules take to load.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark stops at the first surprise"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use headwater_lint::{Linter, RuleSet};
use headwater_template::{Dialect, Source, Template};

/// A prompt with a dozen values, a loop, a condition, and text up to 4 KB.
fn template() -> String {
    let mut text = String::from(
        "{# headwater: {volatility: {company: static}} #}\nYou work for {{ company }}.\n\n# Rules\n",
    );
    let mut number = 0;
    while text.len() < 3_600 {
        number += 1;
        text.push_str(&format!(
            "- Rule {number}: quote the paragraph that you rely on, and never promise a date.\n"
        ));
    }
    text.push_str("\n# Tools\n{% for tool in tools | sort(attribute='name') %}\n{{ tool.name }}: {{ tool.description }}\n{% endfor %}\n");
    text.push_str("{% if user.is_premium %}\nOffer the express line.\n{% endif %}\n");
    text.push_str(
        "Documents:\n{% for chunk in chunks %}\n<doc>{{ chunk.text }}</doc>\n{% endfor %}\n",
    );
    text.push_str("Now:\n{{ now }}\n{{ user.name }}\n{{ question }}\n");
    text
}

fn linting(c: &mut Criterion) {
    let linter = Linter::new(RuleSet::builtin().unwrap());
    let text = template();
    let declared = Default::default();
    let mut group = c.benchmark_group("template of 4 KB");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("check", |b| {
        b.iter(|| linter.check("a.j2", black_box(text.as_bytes()), &declared));
    });
    let source = Source::from_bytes(text.as_bytes()).unwrap();
    let parsed = Template::parse(source.clone(), Dialect::Jinja);
    group.bench_function("parse", |b| {
        b.iter(|| Template::parse(black_box(source.clone()), Dialect::Jinja));
    });
    group.bench_function("rules", |b| b.iter(|| linter.lint(black_box(&parsed))));
    group.finish();
    c.bench_function("load the rules", |b| {
        b.iter(|| Linter::new(RuleSet::builtin().unwrap()));
    });
}

criterion_group!(benches, linting);
criterion_main!(benches);
