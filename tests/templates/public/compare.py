"""Renders public chat templates with the SDK and with Jinja2, and compares byte for byte.

usage: compare.py RENDER FOLDER, where FOLDER has the templates as *.jinja.
Prints what differs and counts; exits with 1 if anything differs for a reason not known.
"""

import collections
import functools
import html
import importlib.util
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def generator():
    """The environment of tests/templates/generate.py, set up as transformers sets it up."""
    spec = importlib.util.spec_from_file_location("generate", HERE.parent / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tool(name, parameters):
    return {"type": "function", "function": {"name": name, "description": f"Tells {name} <&> 'é'.", "parameters": parameters}}


TOOLS = [
    tool("tides", {"type": "object", "properties": {"port": {"type": "string", "description": "Which port"}, "day": {"type": "integer", "enum": [1, 2]}}, "required": ["port"]}),
    tool("queue", {"type": "object", "properties": {"deep": {"type": "array", "items": {"type": "number"}}}, "required": []}),
]
CALL = {"id": "call00001", "type": "function", "function": {"name": "tides", "arguments": {"port": "North \"Quay\"", "day": 1}}}
SAID = {"id": "call00001", "type": "function", "function": {"name": "tides", "arguments": '{"port": "North", "day": 1}'}}


def user(text):
    return {"role": "user", "content": text}


def model(text, **more):
    return {"role": "assistant", "content": text, **more}


SYSTEM = {"role": "system", "content": "You answer questions about the harbour.\nBriefly."}
RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "tides", "content": '{"high": "12:04"}'}

CHATS = {
    "one question": [user("When is high tide?")],
    "instructions, two turns": [SYSTEM, user("When is high tide? 渡船 🙂"), model("At <b>12:04</b>.\n"), user("  And low tide? ")],
    "thoughts": [SYSTEM, user("When?"), model("<think>\nLook it up.\n</think>\n\nAt 12:04."), user("And low?")],
    "thoughts apart": [user("When?"), model("At 12:04.", reasoning_content="Look it up."), user("And low?")],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "When is"}, {"type": "text", "text": "high tide?"}]}],
    "a call": [SYSTEM, user("When?"), model("", tool_calls=[CALL]), RESULT],
    "a call as text": [SYSTEM, user("When?"), model("Let me see.", tool_calls=[SAID]), RESULT, model("At 12:04."), user("Thanks")],
    "two calls": [user("When?"), model(None, tool_calls=[CALL, {**CALL, "id": "call00002"}]), RESULT, {**RESULT, "tool_call_id": "call00002"}],
    "roles that do not alternate": [user("When?"), user("Well?")],
}


def cases():
    for name, messages in CHATS.items():
        for tools in [None, TOOLS]:
            for more in [{"add_generation_prompt": True}, {"add_generation_prompt": False, "enable_thinking": False}]:
                values = {"messages": messages, "tools": tools, "documents": None, "bos_token": "<s>", "eos_token": "</s>", **more}
                yield f"{name}, {'tools' if tools else 'no tools'}, {more}", values


# Where we print and Jinja2 does not, or not the same; README.md has the reasons. Anything else fails.
LOOP_OVER_NONE = "'NoneType' object is not iterable"
GENERATOR_AS_JSON = "Object of type generator is not JSON serializable"
KNOWN = {
    "CohereForAI-c4ai-command-r-plus-tool_use.jinja": LOOP_OVER_NONE,
    "LFM2.5-8B-A1B.jinja": LOOP_OVER_NONE,
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja": LOOP_OVER_NONE,
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja": LOOP_OVER_NONE,
    "llama-cpp-deepseek-r1.jinja": GENERATOR_AS_JSON,
    "meetkai-functionary-medium-v3.1.jinja": "escaped",
}


def known(path, want, have):
    """The reason of a difference that is understood."""
    reason = KNOWN.get(path.name)
    if "text" not in have:
        return None
    if reason == "escaped":
        return reason if "text" in want and html.unescape(want["text"]) == have["text"] else None
    return reason if want.get("message") == reason else None


def outcome(template, values):
    try:
        return {"text": template().render(**values)}
    except Exception as error:  # Any failure is the outcome.
        return {"error": type(error).__name__, "message": str(error)}


def main():
    render, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    theirs = generator()
    jobs, expected = [], []
    for path in sorted(folder.glob("*.jinja")):
        source = path.read_bytes().decode()
        template = functools.cache(lambda source=source: theirs.environment().from_string(source))
        for name, values in cases():
            jobs.append((path, name, values))
            expected.append(outcome(template, json.loads(json.dumps(values))))
    lines = "".join(json.dumps({"template": str(path), "values": json.dumps(values)}) + "\n" for path, _, values in jobs)
    done = subprocess.run([render], input=lines, capture_output=True, text=True, encoding="utf-8", check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(jobs), (len(found), len(jobs))
    texts = errors = different = 0
    understood = collections.Counter()
    for (path, name, _), want, have in zip(jobs, expected, found):
        if "text" in want and want == have:
            texts += 1
        elif "error" in want and "error" in have:
            errors += 1
        elif reason := known(path, want, have):
            understood[reason] += 1
        else:
            different += 1
            print(f"{path.name}: {name}\n  jinja2 {first_difference(want, have)}\n  ours   {first_difference(have, want)}")
    count = len({path for path, _, _ in jobs})
    print(f"{count} templates, {len(jobs)} prompts: {texts} equal, {errors} refused by both, {different} different")
    for reason, prompts in sorted(understood.items()):
        print(f"  and {prompts} that differ for a known reason: {reason}")
    sys.exit(different > 0)


def first_difference(one, other):
    if "text" not in one or "text" not in other:
        return json.dumps(one)[:300]
    at = next((i for i, (a, b) in enumerate(zip(one["text"], other["text"])) if a != b), min(map(len, [one["text"], other["text"]])))
    return f"at {at}: {one['text'][max(at - 40, 0) : at + 60]!r}"


if __name__ == "__main__":
    main()
