"""Images among a task's files: told by their bytes, shown to chat models, and to Codex where the prompt names them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from harnesses.chat import ChatHarness, ChatSettings, chat_request
from harnesses.codex import CodexHarness
from harnesses.harness import Assignment
from harnesses.images import MOST, image_type, images_of, named_images
from harnesses.models.fake import ScriptedModel
from sandboxes.fake import FakeAnswer
from tests.support.harnesses import assignment, faked

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(40))
JPEG = b"\xff\xd8\xff\xe0" + bytes(20)
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "


def asked(tmp_path: Path, **files: bytes) -> Assignment:
    named = {name.replace("__", "."): data for name, data in files.items()}
    return Assignment("a-1", "t-1", "Read page.png.", tmp_path, files=named)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (WEBP, "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"%PDF-1.7", None),
        (b"PNG", None),
        (b"", None),
    ],
)
def test_an_image_is_told_by_its_bytes_whatever_its_name(data: bytes, kind: str | None) -> None:
    assert image_type(data) == kind


def test_a_chat_model_is_shown_every_image_and_told_which_file_each_is(tmp_path: Path) -> None:
    request = chat_request(asked(tmp_path, page__png=PNG, a__jpg=JPEG, note__txt=b"hello"), ChatSettings())
    (turn,) = request.messages
    assert [(image.media_type, image.data) for image in turn.images] == [("image/jpeg", JPEG), ("image/png", PNG)]
    assert "<file path='a.jpg'>(image 1 of 2 above)</file>" in turn.content
    assert "<file path='page.png'>(image 2 of 2 above)</file>" in turn.content
    assert "hello" in turn.content


def test_a_binary_file_that_is_no_image_is_only_named(tmp_path: Path) -> None:
    (turn,) = chat_request(asked(tmp_path, book__xlsx=b"PK\x03\x04\0\0"), ChatSettings()).messages
    assert not turn.images
    assert "(not text: 6 bytes)" in turn.content


def test_no_more_images_than_providers_take() -> None:
    files = {f"{number:03}.png": PNG for number in range(MOST + 5)}
    assert list(images_of(files)) == [f"{number:03}.png" for number in range(MOST)]


def test_an_agent_is_shown_the_images_that_the_prompt_names() -> None:
    files = {"page.png": PNG, "other.png": PNG, "page,2.png": PNG, "page.txt": b"page"}
    assert named_images(files, "Look at page.png and page,2.png beside page.txt.") == ("page.png",)


def test_an_image_does_not_show_its_bytes_in_logs() -> None:
    (image,) = images_of({"page.png": PNG}).values()
    assert "PNG" not in repr(image)
    assert base64.b64decode(image.base64) == PNG


async def test_an_attempt_with_an_image_asks_with_it(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: f"{len(request.messages[0].images)} image")
    attempt = await ChatHarness(model).run(asked(tmp_path, page__png=PNG))
    assert attempt.trace.final_answer == "1 image"


async def test_codex_is_given_the_named_images_with_its_first_prompt(tmp_path: Path) -> None:
    harness, sandbox, _ = faked(CodexHarness, tmp_path, lambda box, command: FakeAnswer())
    files = {"page.png": PNG, "other.png": PNG, "in.csv": b"a\n"}
    await harness.run(assignment(tmp_path, prompt="Look at page.png.", files=files))
    (box,) = sandbox.opened
    (command,) = box.commands
    given = [word for word in command.argv if word.startswith("--image")]
    assert given == [f"--image={box.layout.workspace}/page.png"]
    after = command.argv[command.argv.index(given[0]) + 1]
    assert after.startswith("-"), "the option takes several values: what follows must not be taken for one"
    assert (box.workspace / "page.png").read_bytes() == PNG
