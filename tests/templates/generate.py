"""Writes expected.json: what Jinja2, set up as transformers sets it up, makes of the cases below.

    python -m venv /tmp/jinja && /tmp/jinja/bin/pip install jinja2==3.1.6
    /tmp/jinja/bin/python tests/templates/generate.py

The templates are our own; each exercises something that chat templates in the field do.
"""

import datetime
import json
import pathlib

import jinja2
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2024, 7, 4, 15, 5, 9)


class Generation(Extension):
    """The block that marks what the model said. Its body is printed where it stands."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_said")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _said(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )

    env = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols],
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


CHAT = {
    "messages": [
        {"role": "system", "content": "  Be brief.\n"},
        {"role": "user", "content": [{"type": "text", "text": "Tide?"}, {"type": "image"}]},
        {
            "role": "assistant",
            "content": "<think>\nharbour\n</think>\n\nAsking.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {
                        "name": "tide",
                        "arguments": {"port": "Łódź", "days": 2, "when": None, "live": True},
                    },
                },
                {"function": {"name": "raw", "arguments": '{"a": 1}'}},
            ],
        },
        {"role": "tool", "name": "tide", "content": '{"high": "12:04"}'},
        {"role": "assistant", "reasoning_content": "plain", "content": "High at 12:04."},
        {"role": "user", "content": "And tomorrow?"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "tide",
                "description": 'Height & time of "tides" <m>',
                "parameters": {
                    "type": "object",
                    "properties": {
                        "port": {"type": "string", "description": "it's a port"},
                        "days": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
                    },
                    "required": ["port"],
                },
            },
        }
    ],
    "bos_token": "<s>",
    "eos_token": "</s>",
    "add_generation_prompt": True,
}

VALUE = {
    "zebra": 1,
    "apple": [1, 2.0, 0.1, 1e16, 1e-7, -0.0, True, False, None, []],
    "nested": {"ü": "é\u2028\"\\/\n\t\x01\x7f😀", "empty": {}},
}

CASES = [
    # White space
    ("trim and lstrip", "a\n  {% if true %}\n  b\n  {% endif %}\nc\n", {}),
    ("one line end at the end goes", "a\n\n", {}),
    ("trim marks", "a  {%- if true -%}  b  {%- endif %}\n  c {{- 1 -}} d\n", {}),
    ("plus marks", "a\n  {%+ if true %}\n  b\n  {%+ endif +%}\nc", {}),
    ("comments", "a\n  {# x #}\nb {#- y -#} c\n{# z #}\n\nd", {}),
    ("raw", "{% raw %}\n{{ x }} {% if %}\n{% endraw %}\nb", {}),
    ("set and output", "{% set x = 1 %}\n  {{ x }}\n  {%- set y = 2 -%}  {{ y }}\n", {}),
    ("set block", "{% set x %}\n a {{ 1 }}\n{% endset %}\n[{{ x }}]{{ x | trim | length }}", {}),
    (
        "nested loops",
        "{% for a in [1, 2] %}\n  {% for b in [3, 4] %}\n    {{ a }}{{ b }}\n  {% endfor %}\n"
        "  {%- if not loop.last %}\n,\n  {% endif %}\n{% endfor %}\nend",
        {},
    ),
    ("loop else", "{% for a in [] %}\nx\n{% else %}\nnone\n{% endfor %}\n", {}),
    (
        "loop variables",
        "{% for a in ['a', 'b', 'c'] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}"
        "{{ loop.last }}{{ loop.length }}{{ loop.previtem | default('-') }}"
        "{{ loop.nextitem is defined }}{{ loop.cycle('x', 'y') }};{% endfor %}",
        {},
    ),
    ("loop filter", "{% for a in range(6) if a is odd %}{{ a }}{{ loop.index }} {% endfor %}", {}),
    (
        "break and continue",
        "{% for a in range(9) %}\n{% if a == 2 %}{% continue %}{% endif %}\n"
        "{% if a > 4 %}\n{% break %}\n{% endif %}\n{{ a }}\n{% endfor %}\n",
        {},
    ),
    ("recursive loop", "{% for a in t recursive %}{{ a.n }}({{ loop(a.c) }}){% endfor %}",
     {"t": [{"n": 1, "c": [{"n": 2, "c": []}]}, {"n": 3, "c": []}]}),
    ("unpacking", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% set a, b = [1, 2] %}{{ a }}{{ b }}",
     {"d": {"z": 1, "a": [True, None]}}),
    # Generation
    ("generation", "a\n{% generation %}\nb{{ 1 }}\n{% endgeneration %}\nc", {}),
    ("generation trims", "a  {%- generation -%}  b  {%- endgeneration -%}  c", {}),
    ("generation in raw", "{% raw %}{% generation %}{% endraw %}{# {% endgeneration %} #}", {}),
    ("generation in a loop",
     "{% for m in messages %}\n{% if m.role == 'assistant' %}\n{% generation %}\n{{ m.content }}"
     "{{ eos_token }}\n{% endgeneration %}\n{% else %}\n{{ m.role }}\n{% endif %}\n{% endfor %}", CHAT),
    # Namespaces and macros
    (
        "namespace",
        "{% set ns = namespace(n=0, seen=false, s='') %}{% for m in messages %}"
        "{% if m.role == 'user' %}{% set ns.n = ns.n + 1 %}{% set ns.seen = true %}"
        "{% set ns.s = ns.s ~ m.role ~ loop.index %}{% endif %}{% endfor %}{{ ns.n }}{{ ns.seen }}{{ ns.s }}",
        CHAT,
    ),
    (
        "last query",
        "{% set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}\n"
        "{% for message in messages[::-1] %}\n{% set index = (messages|length - 1) - loop.index0 %}\n"
        "{% if ns.multi_step_tool and message.role == 'user' and message.content is string and not"
        " (message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}\n"
        "{% set ns.multi_step_tool = false %}\n{% set ns.last_query_index = index %}\n{% endif %}\n"
        "{% endfor %}\n{{ ns.last_query_index }}",
        CHAT,
    ),
    (
        "macros",
        "{% macro item(x, sep=', ', last=false) -%}\n  {{ x }}{% if not last %}{{ sep }}{% endif %}\n"
        "{%- endmacro %}\n{{ item(1) }}{{ item('b', sep='; ') }}{{ item(none, last=true) }}\n"
        "{% macro wrap() %}<{{ caller() }}>{% endmacro %}{% call wrap() %}in{% endcall %}",
        {},
    ),
    (
        "recursive macro",
        "{% macro kind(s) -%}{% if s.type == 'array' -%}{{ kind(s['items']) }}[]{% else %}{{ s.type }}"
        "{% endif %}{%- endmacro %}{% for k, v in tools[0].function.parameters.properties.items() %}"
        "{{ k }}: {{ kind(v) }}\n{% endfor %}",
        CHAT,
    ),
    ("a member named items", "{% for k, v in s.items() %}{{ k }}={{ v }} {% endfor %}{{ s['items'].type }}",
     {"s": {"type": "array", "items": {"type": "string"}}}),
    ("with and filter", "{% with a = 1, b = 'x' %}{{ a }}{{ b }}{% endwith %}{% filter upper %}abc{{ 'd' }}{% endfilter %}", {}),
    # JSON
    ("tojson", "{{ v | tojson }}", {"v": VALUE}),
    ("tojson indent", "{{ v | tojson(indent=4) }}\n{{ v | tojson(indent=2, sort_keys=true) }}", {"v": VALUE}),
    ("tojson ascii", "{{ v | tojson(ensure_ascii=true) }}{{ v | tojson(ensure_ascii=False) }}", {"v": VALUE}),
    ("tojson separators", "{{ v | tojson(separators=(',', ':')) }}{{ v | tojson(indent=1, separators=(', ', '=')) }}", {"v": VALUE}),
    ("tojson sorted", "{{ v | tojson(sort_keys=true) }}", {"v": VALUE}),
    ("tojson of literals", "{{ {'b': 1, 'a': [none, true, 1.5, 'x']} | tojson }}{{ 'a<b>&\\'' | tojson }}{{ 3 | tojson }}{{ none | tojson }}{{ [] | tojson(indent=2) }}", {}),
    ("tojson positional", "{{ [1, 'é'] | tojson(true) }}{{ [1] | tojson(false, 2) }}", {}),
    ("tojson of escapes", "{{ '\\x7f\\u2028\\b\\f' | tojson }}", {}),
    # Printing
    ("constants", "{{ true }} {{ false }} {{ none }} {{ True }} {{ None }} {{ 1.0 }} {{ 1e3 }} {{ 7 / 2 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 4 / 2 }}", {}),
    ("lists", "{{ [1, 'a', \"it's\", none, true, 1.5] }} {{ {'k': 'v', 'n': [1]} }} {{ v }}", {"v": VALUE}),
    ("concatenation", "{{ 1 ~ true ~ none ~ 1.5 ~ 'x' }}{{ 'a' + 'b' }}{{ 'ab' * 3 }}{{ [1] + [2] }}", {}),
    ("undefined", "[{{ x }}]{% if x %}a{% endif %}{{ x is defined }}{{ x | default('d') }}{{ d.y is undefined }}{% for a in x %}{% endfor %}", {"d": {}}),
    ("default", "{{ '' | default('a') }}{{ '' | default('a', true) }}{{ none | default('b', boolean=true) }}", {}),
    ("conditional expression", "{{ 'a' if true }}{{ 'a' if false else 'b' }}[{{ 'a' if false }}]", {}),
    # Methods
    ("strip", "[{{ s.strip() }}][{{ s.lstrip() }}][{{ s.rstrip() }}][{{ 'xxaxx'.strip('x') }}][{{ 'abca'.lstrip('ab') }}][{{ s | trim }}]", {"s": "\x1c \t\u00a0a b\n\u3000"}),
    ("split", "{{ 'a,b,,c'.split(',') }}{{ ' a  b c '.split() }}{{ ' a  b c '.split(none, 1) }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}{{ ' a b  c '.rsplit(none, 1) }}{{ ''.split() }}{{ ''.split(',') }}", {}),
    ("split and index", "{{ s.split('</think>')[-1].lstrip('\\n') }}|{{ s.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') }}", {"s": "<think>\na\n</think>\n\nb"}),
    ("cases", "{{ s.upper() }}{{ s.lower() }}{{ s.title() }}{{ s.capitalize() }}{{ s | title }}{{ s | capitalize }}{{ s | upper }}", {"s": "they're hERE ünder-way 2nd"}),
    ("find", "{{ 'äbcb'.find('b') }}{{ 'äbcb'.rfind('b') }}{{ 'a'.find('x') }}{{ 'aaa'.count('a') }}{{ 'aaa'.count('') }}{{ 'äb'.index('b') }}", {}),
    ("starts", "{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'c')) }}{{ 'abc'.removeprefix('a') }}{{ 'abc'.removesuffix('x') }}", {}),
    ("replace and join", "{{ 'aXbX'.replace('X', '-') }}{{ 'aXbX'.replace('X', '-', 1) }}{{ ', '.join(['a', 'b']) }}{{ [1, none, true] | join('|') }}{{ m | join('+', attribute='role') }}", {"m": CHAT["messages"]}),
    ("splitlines", "{{ 'a\\r\\nb\\rc\\n\\nd\\u2028e'.splitlines() }}{{ 'a\\nb'.splitlines(true) }}", {}),
    ("format", "{{ '{} {name} {0}'.format(1, name='x') if false else '{} {}'.format(1, 'a') }}{{ '%s-%03d' | format('a', 7) }}", {}),
    ("is", "{{ 'a1'.isalnum() }}{{ '12'.isdigit() }}{{ 'A1'.isupper() }}{{ 'a'.islower() }}{{ ''.isalpha() }}{{ ' '.isspace() }}", {}),
    ("pad", "{{ '7'.zfill(3) }}[{{ 'a'.ljust(3) }}][{{ 'a'.rjust(3, '.') }}][{{ 'ab'.center(5, '*') }}]", {}),
    ("dictionaries", "{{ d.get('a') }}{{ d.get('x') }}{{ d.get('x', 'y') }}{% for k in d.keys() %}{{ k }}{% endfor %}{% for v in d.values() %}{{ v }}{% endfor %}{% for k, v in d | items %}{{ k }}{{ v }}{% endfor %}{% for k, v in d | dictsort %}{{ k }}{% endfor %}{{ 'a' in d }}{{ d | length }}{{ d | list }}", {"d": {"b": 1, "a": None}}),
    ("lists have methods", "{{ [1, 2, 1].count(1) }}{{ ['a', 'b'].index('b') }}", {}),
    # Tests, filters, slices
    ("tests", "{% for x in [1, 1.5, 'a', none, true, [1], {'a': 1}, undefined_name] %}{{ x is string }}{{ x is mapping }}{{ x is sequence }}{{ x is iterable }}{{ x is number }}{{ x is none }}{{ x is boolean }}{{ x is defined }};{% endfor %}", {}),
    ("more tests", "{{ 3 is odd }}{{ 4 is divisibleby 2 }}{{ 'a' is in ['a'] }}{{ 1 is eq 1 }}{{ none is not none }}{{ true is true }}{{ 1 is integer }}{{ 1.0 is float }}", {}),
    ("slices", "{{ [1, 2, 3, 4][::-1] }}{{ [1, 2, 3][1:] }}{{ [1, 2, 3][:-1] }}{{ 'abcd'[1:3] }}{{ 'abcd'[::-1] }}{{ 'äbc'[0] }}{{ [1, 2][-1] }}", {}),
    ("select", "{{ m | selectattr('role', 'equalto', 'user') | list | length }}{{ m | rejectattr('role', 'in', ['user', 'tool']) | map(attribute='role') | list }}{{ [1, 2, 3] | select('odd') | list }}{{ m | map(attribute='role') | unique | list }}", {"m": CHAT["messages"]}),
    ("sort", "{{ [3, 1, 2] | sort }}{{ ['b', 'A', 'c'] | sort }}{{ ['b', 'A'] | sort(case_sensitive=true) }}{{ m | sort(attribute='role') | map(attribute='role') | join(',') }}{{ [1, 2] | sort(reverse=true) }}", {"m": CHAT["messages"]}),
    ("filters", "{{ [1, 2] | first }}{{ [1, 2] | last }}{{ [1, 2] | sum }}{{ [3, 1] | min }}{{ [3, 1] | max }}{{ 'a b' | replace('a', 'c') }}{{ '3' | int + 1 }}{{ 2.567 | round(1) }}{{ 2.5 | round }}{{ 3.5 | round }}{{ 7 | round }}{{ 2.1 | round(0, 'ceil') }}{{ 2.19 | round(1, method='floor') }}{{ -3 | abs }}{{ 'x' | string }}{{ 1.0 | string }}{{ [1, 2, 3] | reverse | list }}{{ 'abc' | length }}{{ [1, 2, 3] | batch(2) | list }}{{ 1 | float }}", {}),
    ("indent", "{{ s | indent }}|{{ s | indent(2, true) }}|{{ s | indent(1, blank=true) }}|{{ s | indent('> ') }}", {"s": "a\n\nb\n"}),
    ("group", "{% for r, l in m | groupby('role') %}{{ r }}{{ l | length }} {% endfor %}", {"m": CHAT["messages"]}),
    ("safe", "{{ '<b>' | safe }}{{ '<b>' }}{{ 'a' | safe ~ '<' }}", {}),
    ("operators", "{{ 1 < 2 <= 2 }}{{ not false and (true or x) }}{{ 'a' not in 'bcd' }}{{ 1 == 1.0 }}{{ none == false }}{{ [1] == [1] }}{{ 'a' < 'b' }}", {}),
    ("short circuits", "{{ 'a' or 'b' }}{{ '' or 'b' }}{{ 'a' and 'b' }}{{ x and 1 }}{{ y or x }}", {"x": None, "y": 0}),
    # The date
    ("strftime_now", "{{ strftime_now('%d %B %Y') }}|{{ strftime_now('%Y-%m-%d') }}|{{ strftime_now('%A %a %b %-d %e %j %H:%M:%S %I %p %y %%') }}", {}),
    ("date as default", "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}Today: {{ date_string }}\n", {}),
    # Whole prompts
    (
        "tools and reasoning",
        """{{- bos_token }}
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content | trim + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
        {%- for part in message.content %}
            {%- if part.type == 'text' %}{% set content = part.text %}{{ content }}{% else %}<image>{% endif %}
        {%- endfor %}
    {%- endif %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content }}
        {%- for tool_call in message.tool_calls or [] %}
            {%- if tool_call.function %}{% set tool_call = tool_call.function %}{% endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
            {%- if tool_call.arguments is string %}
                {{- tool_call.arguments }}
            {%- else %}
                {{- tool_call.arguments | tojson }}
            {%- endif %}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}{{- content }}{{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
        CHAT,
    ),
    (
        "schema as types",
        """{%- macro render_type(spec) -%}
    {%- if spec.type == "array" -%}
        {{ render_type(spec['items']) }}[]
    {%- elif spec.enum is defined -%}
        {{ spec.enum | map('tojson') | join(' | ') }}
    {%- else -%}
        {{ spec.type }}
    {%- endif -%}
{%- endmacro -%}
{% for tool in tools %}
  {%- set tool = tool.function %}
// {{ tool.description }}
type {{ tool.name }} = (_: {
  {% for name, spec in tool.parameters.properties.items() %}
  {% if spec.description %}
  // {{ spec.description }}
  {% endif %}
  {{ name }}{% if name not in tool.parameters.required %}?{% endif %}: {{ render_type(spec) }},
  {% endfor %}
}) => any;
{% endfor %}
""",
        CHAT,
    ),
    (
        "documents",
        "{% if documents %}\n<documents>\n{% for doc in documents %}\n[{{ loop.index }}] {{ doc.title | default('untitled', true) }}\n"
        "{{ doc.text | trim | indent(2) }}\n{% endfor %}\n</documents>\n{% endif %}\n{{ question }}\n",
        {"documents": [{"title": "", "text": " a\nb "}, {"text": "c"}], "question": "?"},
    ),
    # Errors: the whole outcome is that there is one
    ("raise", "{% if messages[0].role != 'user' %}{{ raise_exception('Roles must alternate') }}{% endif %}", CHAT),
    ("attribute of undefined", "{{ x.y }}", {}),
    ("unknown method", "{{ 'a'.frobnicate() }}", {}),
    ("no such filter", "{{ 'a' | frobnicate }}", {}),
    ("string and number", "{{ 'a' + 1 }}", {}),
]


def run(template, values):
    try:
        return {"text": environment().from_string(template).render(**values)}
    except Exception as error:  # Any failure is the outcome.
        return {"error": type(error).__name__}


def main():
    cases = [
        # As text, so that no reader sorts the keys.
        {"name": name, "template": template, "values": json.dumps(values), **run(template, values)}
        for name, template, values in CASES
    ]
    names = [case["name"] for case in cases]
    assert len(set(names)) == len(names), "two cases of one name"
    out = {"jinja2": jinja2.__version__, "now": NOW.isoformat(), "cases": cases}
    path = pathlib.Path(__file__).with_name("expected.json")
    path.write_text(json.dumps(out, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    print(f"{len(cases)} cases, {sum('error' in case for case in cases)} errors")


if __name__ == "__main__":
    main()
