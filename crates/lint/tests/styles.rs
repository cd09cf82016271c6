//! Prompts written in the styles of the field (a desktop agent, a coding agent, a retrieval server, a
//! research agent, a chat front end): everything that the linter says about each, no more and no less.

use headwater_lint::{Checked, Linter, RuleSet};

/// Name of the file, its text, codes with lines.
const PROMPTS: &[(&str, &str, &[&str])] = &[
    // An agent that is given extensions; Jinja inside Markdown.
    ("system.md", "\
You are a general-purpose agent that runs on the user's own computer.
The current date is {{ current_date_time }}.

You use tools that extensions provide. Extensions can be added and removed while you work.

# Extensions

{% if (extensions is defined) and extensions %}
These extensions are active. Their instructions are in this section.

{% for extension in extensions %}
## {{ extension.name }}
{% if extension.has_resources %}
{{ extension.name }} can list and read resources.
{% endif %}
{% if extension.instructions %}### Instructions
{{ extension.instructions }}{% endif %}
{% endfor %}
{% else %}
No extension is active. Tell the user how to add one.
{% endif %}

# How to answer

Use Markdown. Follow the usual form of headings and lists, and put code into fences with a language.
", &["HW201 2", "HW104 11", "HW105 8"]),
    // A coding agent with its environment ahead of the description of skills.
    ("coder.md.j2", "\
You are a coding agent that works in a terminal.

<rules>
Read a file before you edit it. Run the tests after each change. Never commit unless you are asked to.
</rules>

<env>
Working directory: {{ working_dir }}
Is a git repository: {{ is_git_repo }}
Platform: {{ platform }}
Today's date: {{ date }}
{% if git_status %}
Git status:
{{ git_status }}
{% endif %}
</env>

<skills>
When a task fits the description of a skill, read the file of the skill before you begin. Say which skill
you use. Skills never override the rules above.
</skills>
", &["HW205 8", "HW205 10", "HW205 14", "HW202 11", "HW104 9"]),
    // A retrieval server that prints the date before the blocks of its children.
    ("base.j2", "\
{% block identity_block %}You are an assistant that answers questions about the user's documents.{% endblock %}

The current date is {{ current_date }}.

{% block guidelines_block %}
Answer from the context alone. If it holds no answer, say that you do not know.
{% endblock %}
{% block context_block %}
Context:
{{ context }}
{% endblock %}
", &["HW202 3"]),
    // A research agent with a profile of its user in the middle.
    ("system.md.j2", "\
You are a research agent for questions about companies and markets.

<time>{{ current_time }}</time>
<user_profile>
Name: {{ user_profile.name }}
Language: {{ user_profile.locale }}
</user_profile>

<task_workflow>
Plan first, then look for sources, then write the report with a quotation for each number.
</task_workflow>
", &["HW201 3", "HW204 5"]),
    // A chat front end that puts what it retrieved into a fixed frame.
    ("rag.j2", "\
### Task:
Answer the question from the context, and cite sources as [id] where the tag has an id.

### Guidelines:
- If you do not know the answer, say so.
- Answer in the language of the question.

<context>
{{ context }}
</context>

<user_query>
{{ query }}
</user_query>
", &[]),
    // A well ordered prompt with examples and a question at its end.
    ("classify.j2", "\
{# headwater: {volatility: {examples: static}} #}
Sort each message into billing, shipping or other. Answer with one word.

{% for example in examples %}
Message: {{ example.text }}
Class: {{ example.label }}
{% endfor %}

Message:
{{ message }}
Class:", &[]),
];

#[test]
fn each_style_gets_its_findings() {
    let linter = Linter::new(RuleSet::builtin().unwrap());
    for (path, text, expected) in PROMPTS {
        let checked = linter.check(path, text.as_bytes(), &Default::default());
        let Checked::Judged(outcome) = checked else {
            panic!("{path}: {checked:?}");
        };
        let found: Vec<String> = outcome
            .findings
            .iter()
            .map(|finding| format!("{} {}", finding.code, finding.position.line))
            .collect();
        let mut found: Vec<&str> = found.iter().map(String::as_str).collect();
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{path}");
    }
}
