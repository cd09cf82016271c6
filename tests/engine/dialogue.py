"""The ten conversations: what their users say, and what has been said so far."""

import random
from dataclasses import dataclass, field

TURNS = 5

SHOPS = ["Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Ivy", "Juniper"]
RULES = [
    "A refund is due when the parcel came late, was damaged, or never arrived.",
    "Ask for the order number before you look anything up, and repeat it in the answer.",
    "Prices on the receipt count; prices on the website may have changed since.",
    "Gifts can be exchanged without a receipt within thirty days of the delivery.",
    "Name the rule that you used, and say what the customer can do next.",
    "Repairs take two weeks; offer a loan machine to anyone who has to wait for longer.",
    "Never promise a date that the carrier has not confirmed in writing.",
]
QUESTIONS = [
    "My order {order} has not come yet. Where is it, and who was supposed to bring it to me?",
    "Thank you. The box of {order} was open when it came; may I send it back for another one?",
    "It was meant as a present. Can my sister exchange {order} without having the receipt?",
    "What would a repair of {order} cost, and how long would I have to do without the machine?",
    "Then please tell me once more, in one sentence, what I have to do about {order} now.",
]


@dataclass
class Conversation:
    """One customer of one shop. `messages` grows by a question and an answer each turn."""

    name: str
    system: str
    questions: list[str]
    messages: list[tuple[str, str]] = field(default_factory=list)
    route: tuple[str, int] | None = None  # the last answer's `Prefix-Route` and its prompt's signed tokens

    def ask(self, turn: int) -> None:
        self.messages.append(("user", self.questions[turn]))

    def answer(self, text: str) -> None:
        self.messages.append(("assistant", text.strip()))

    def prompt_file(self) -> dict:
        """The conversation so far, in the form that `headwater sign` reads."""
        said = [{"volatility": "dynamic", "role": role, "text": text} for role, text in self.messages]
        system = {"volatility": "static", "role": "system", "name": "handbook", "text": self.system}
        return {"session": self.name, "segments": [system, *said]}


def conversations(seed: int) -> list[Conversation]:
    """One conversation a shop. A handbook starts with the shop's name, so no two prompts share a head."""
    dice = random.Random(seed)
    return [conversation(shop, dice) for shop in SHOPS]


def conversation(shop: str, dice: random.Random) -> Conversation:
    rules = [f"{number}. {dice.choice(RULES)}" for number in range(1, 17)]
    system = f"{shop} & Sons, handbook of the service desk.\n" + "\n".join(rules)
    order = f"{shop[0]}{dice.randrange(10_000, 100_000)}"
    return Conversation(f"{shop}/{order}", system, [text.format(order=order) for text in QUESTIONS])
