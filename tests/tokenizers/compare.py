"""Compares the ids of the SDK's `encode` example with those of Python's `tokenizers`.

usage: compare.py ENCODE FOLDER, where FOLDER has NAME.json for each of the five vocabularies.
Prints one line of counts for each comparison and exits with 1 at the first difference.
"""

import json
import pathlib
import random
import subprocess
import sys

from tokenizers import Tokenizer

SEED = 20261130
CHATS = 150

# The markers that a chat template of the model writes.
MARKERS = {
    "qwen3": ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"],
    "llama3_1": ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
    "deepseek_v3": ["<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<|EOT|>"],
    "gemma3": ["<bos>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>"],
    "gptoss": ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>"],
}

PROSE = {
    "english": "The ferry leaves at ten past six; it's rarely late, and they'll say so when it is.\n",
    "chinese": "渡轮六点十分出发，很少晚点。请在售票处询问：今天的潮汐表在哪里？「好的」。\n",
    "arabic": "تغادر العبّارة الساعة السادسة وعشر دقائق، ونادراً ما تتأخر. أين جدول المدّ والجزر؟\n",
    "japanese": "フェリーは六時十分に出ます。ほとんど遅れません。ﾊﾝｶｸもあります。\n",
    "hindi": "नौका छह बजकर दस मिनट पर चलती है और शायद ही कभी देर करती है।\n",
    "korean": "배는 여섯 시 십 분에 떠나고 거의 늦지 않습니다. 한글 조합\n",
    "thai": "เรือเฟอร์รี่ออกเวลาหกโมงสิบนาที\n",
    "russian": "Паром уходит в шесть десять, и он редко опаздывает.\n",
    "emoji": "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 🇩🇪🇯🇵 ❤️‍🔥 1️⃣ 🙂🙂🙂 ☺︎\n",
    "marks": "e\u0301 n\u0303 \u0301\u0338 <\u0338 >\u0338 ﬁ Å Ω a\u0316\u0301 ก็ ﷺ\n",
    "json": '{"when": "06:10", "late": false, "tides": [1.25, -0.5e-7, 12345678901234567890], "a": {"b": []}}\n',
    "table": "<table>\n<tr><td>06:10</td><td>12</td></tr>\n</table>\n| a | b |\n|---|---|\n\n\n# Title\n\n* one\n    * two\n",
    "odd": "\u200b\u200d\ufeff\u00a0\u2028\u3000\x00\x07\x1b[0m\ue000\U0010fffd\r\n\r\r\n\x85\v\f\n",
}


def blanks():
    for unit in [" ", "\t", "\n", "\r\n", " \n", "\n ", "\u00a0", "\u3000", "\t ", "a ", " a", ". "]:
        for count in [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 64, 100, 255, 1000, 4096]:
            yield unit * count


def code():
    root = pathlib.Path(__file__).resolve().parents[2]
    for path in sorted(root.glob("crates/*/src/**/*.rs"))[:40] + sorted(root.glob("tests/**/*.py")):
        yield path.read_text(encoding="utf-8")


def is_control(token):
    text = token["content"]
    tag = any(text.startswith(a) and text.endswith(b) for a, b in ["<>", "[]"])
    return token["special"] or (tag and len(text.encode()) > 2)


class Vocabulary:
    def __init__(self, name, path):
        self.name, self.path = name, path
        file = json.loads(path.read_text(encoding="utf-8"))
        self.whole = Tokenizer.from_file(str(path))
        self.controls = [t["content"] for t in file["added_tokens"] if is_control(t)]
        for token in file["added_tokens"]:
            token["special"] = is_control(token)
        self.plain = Tokenizer.from_str(json.dumps(file))
        self.plain.encode_special_tokens = True
        for tokenizer in [self.whole, self.plain]:
            tokenizer.no_padding()
            tokenizer.no_truncation()

    def id(self, control):
        return self.whole.token_to_id(control)

    def encode_whole(self, parts, added=False):
        text = "".join(part.get("text") or part.get("marker", "") for part in parts)
        return self.whole.encode(text, add_special_tokens=added).ids

    def encode_plain(self, parts):
        """By definition: text between markers on its own, with no control token known."""
        ids, text = [], ""
        for part in parts + [{"marker": None}]:
            if "text" in part:
                text += part["text"]
                continue
            ids += self.plain.encode(text, add_special_tokens=False).ids
            ids += [self.id(part["marker"])] if part["marker"] else []
            text = ""
        return ids


def random_text(rng, pool):
    pieces = []
    for _ in range(rng.randrange(6)):
        text = rng.choice(pool)
        start = rng.randrange(len(text))
        pieces.append(text[start : start + rng.randrange(1, 120)])
    return "".join(pieces)


def chats(rng, vocabulary, pool, hostile):
    """Prompts of markers and texts; hostile ones spell out control tokens, in full or in part."""
    markers = MARKERS[vocabulary.name]
    for _ in range(CHATS):
        parts = []
        for _ in range(rng.randrange(1, 14)):
            kind = rng.randrange(3 if hostile else 2)
            if kind == 0:
                parts.append({"marker": rng.choice(markers)})
            elif kind == 1:
                parts.append({"text": random_text(rng, pool)})
            else:
                control = rng.choice(rng.choice([markers, vocabulary.controls]))
                keep = rng.choice([len(control), rng.randrange(1, len(control))])
                parts.append({"text": rng.choice([control[:keep], control[len(control) - keep :]])})
        if hostile or not spells(vocabulary, parts):
            yield parts


def spells(vocabulary, parts):
    texts = [part["text"] for part in parts if "text" in part]
    return any(control in text for text in texts for control in vocabulary.controls if control in text)


def ours(encode, vocabulary, options, prompts):
    lines = "".join(json.dumps(parts) + "\n" for parts in prompts)
    command = [encode, str(vocabulary.path), *options]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        sys.exit(f"{vocabulary.name}: {' '.join(command)} failed: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(what, vocabulary, prompts, expected, *found):
    tokens = 0
    for ids in found:
        assert len(ids) == len(prompts), (len(ids), len(prompts))
        for prompt, theirs, mine in zip(prompts, expected, ids):
            if theirs != mine:
                at = next((i for i, (a, b) in enumerate(zip(theirs, mine)) if a != b), min(len(theirs), len(mine)))
                sys.exit(
                    f"{vocabulary.name}, {what}: token {at} differs\n  python {theirs[at : at + 8]}\n"
                    f"  ours   {mine[at : at + 8]}\n  {json.dumps(prompt)[:2000]}"
                )
            tokens += len(mine)
    print(f"{vocabulary.name:12} {what:44} {len(prompts) * len(found):6} prompts {tokens:9} tokens, equal")


def main():
    encode, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    texts = list(PROSE.values()) + [text * 40 for text in PROSE.values()] + list(blanks()) + list(code())
    for name in MARKERS:
        vocabulary = Vocabulary(name, folder / f"{name}.json")
        rng = random.Random(SEED)

        plain = [[{"text": text}] for text in texts if not spells(vocabulary, [{"text": text}])]
        whole = [vocabulary.encode_whole(parts) for parts in plain]
        compare("texts = whole", vocabulary, plain, whole, ours(encode, vocabulary, [], plain))
        added = [vocabulary.encode_whole(parts, added=True) for parts in plain]
        compare("texts, start token added = whole", vocabulary, plain, added, ours(encode, vocabulary, ["added"], plain))

        # Each prompt twice in one process: the second time its texts are found again.
        calm = list(chats(rng, vocabulary, texts, hostile=False)) * 2
        # One that is long enough for several threads.
        calm.append([part for parts in calm for part in parts])
        whole = [vocabulary.encode_whole(parts) for parts in calm]
        for options in [[], ["control"]]:
            kept = ours(encode, vocabulary, options, calm)
            fresh = ours(encode, vocabulary, [*options, "whole"], calm)
            what = f"chats, {''.join(options) or 'plain'}: kept, parallel, fresh = whole"
            compare(what, vocabulary, calm, whole, kept, fresh)

        hostile = list(chats(rng, vocabulary, texts, hostile=True)) * 2
        whole = [vocabulary.encode_whole(parts) for parts in hostile]
        found = ours(encode, vocabulary, ["control"], hostile)
        compare("control tokens in text, asked for = whole", vocabulary, hostile, whole, found)
        pieces = [vocabulary.encode_plain(parts) for parts in hostile]
        found = ours(encode, vocabulary, [], hostile)
        compare("control tokens in text stay text = by pieces", vocabulary, hostile, pieces, found)

        every = [[{"text": f"a {control} b{control}"}] for control in vocabulary.controls]
        controls = {vocabulary.id(control) for control in vocabulary.controls}
        for prompt, ids in zip(every, ours(encode, vocabulary, [], every)):
            if controls.intersection(ids):
                sys.exit(f"{name}: {prompt} became a control token: {ids}")
        print(f"{name:12} {'every control token, spelled, stays text':44} {len(every):6} tokens, none became control")


if __name__ == "__main__":
    main()
