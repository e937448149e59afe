"""The messages of a chat, as OpenAI's clients send them."""

from typing import Any

from regard.serve.http.refusal import Refusal


def message_text(messages: Any, role: str) -> str:
    """The text of the last message of a role; empty if there is none."""
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        return ""
    of_role = [each for each in messages if each.get("role") == role]
    return content_text(of_role[-1].get("content")) if of_role else ""


def content_text(content: Any) -> str:
    """A text, or the texts among the parts of a message."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [each.get("text") for each in parts if isinstance(each, dict)]
    return "\n".join(each for each in texts if isinstance(each, str))


def check_text_only(messages: Any) -> None:
    """Refuse messages that are no messages, or that hold anything but text."""
    if not isinstance(messages, list) or not messages:
        raise Refusal(400, "messages is missing; give a list of objects with role and content")
    for each in messages:
        if not isinstance(each, dict) or not isinstance(each.get("role"), str):
            raise Refusal(400, "messages must hold objects with role and content")
        content = each.get("content")
        for part in content if isinstance(content, list) else []:
            if not isinstance(part, dict) or part.get("type") != "text":
                raise Refusal(400, "messages may hold text only, no images, sounds or files")
