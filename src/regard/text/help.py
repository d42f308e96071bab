"""LibreOffice's help as parallel text: Debian has it in thirty languages, with the same paragraph ids in each.

The packages are fetched by apt, which checks their signatures, and unpacked without being installed. MPL-2.0.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

SPLITS = {"valid": range(3), "test": range(3, 6), "train": range(6, 100)}  # percent of the different sources

_PARAGRAPH = re.compile(r'<(p|h[1-6])\b([^>]*\bid="((?:par|hd)_[^"]+)"[^>]*)>(.*?)</\1>', re.DOTALL)
_CODE = re.compile(r'class="[^"]*code')
_TAG = re.compile(r"<[^>]*>")


def fetch(folder: Path, languages: Sequence[str]) -> Iterator[str]:
    """Make en-XX.train, .valid and .test files of each language in this folder; says what it does."""
    wanted = list(languages) or ["de", "fr"]
    missing = [language for language in wanted if not there(folder, language)]
    for language in wanted:
        if language not in missing:
            yield f"{folder / f'en-{language}.train.tsv.gz'} is there already"
    if not missing:
        return
    with tempfile.TemporaryDirectory() as place:
        english = paragraphs(_unpacked("en-us", Path(place)))
        yield f"English: {len(english):,} paragraphs"
        for language in missing:
            pairs = joined(english, paragraphs(_unpacked(language, Path(place))))
            counts = write(pairs, folder, language)
            told = ", ".join(f"{count:,} {split}" for split, count in counts.items())
            yield f"{folder / f'en-{language}'}.*.tsv.gz: {told} pairs"


def there(folder: Path, language: str) -> bool:
    """Whether a language's files are all there."""
    return all(_file(folder, language, split).is_file() for split in SPLITS)


def paragraphs(folder: Path) -> dict[tuple[str, str], str]:
    """The text of every paragraph in a folder of help pages, by page and paragraph id."""
    found: dict[tuple[str, str], str] = {}
    for page in sorted(folder.rglob("*.html")):
        name = page.relative_to(folder).as_posix()
        for match in _PARAGRAPH.finditer(page.read_text(encoding="utf-8")):
            _, attributes, ident, inside = match.groups()
            text = "" if _CODE.search(attributes) else plain(inside)
            if text:
                found.setdefault((name, ident), text)
    return found


def plain(inside: str) -> str:
    """The text of a paragraph as someone on Linux reads it: of alternatives by system or program, the usual one."""
    if 'class="switchinline"' in inside:
        reader = _Usual()
        reader.feed(inside)
        reader.close()
        text = "".join(reader.parts)
    else:
        text = html.unescape(_TAG.sub("", inside))
    return " ".join(text.split())


def joined(source: dict[tuple[str, str], str], target: dict[tuple[str, str], str]) -> list[tuple[str, str]]:
    """Paragraphs with the same id, each pair once, without those that were left untranslated."""
    both = ((text, target[key]) for key, text in source.items() if key in target)
    return list(dict.fromkeys(pair for pair in both if pair[0] != pair[1]))


def split_of(source: str) -> str:
    """Where a pair belongs: sources that differ in case, digits or punctuation alone stay together."""
    same = " ".join(re.findall(r"[^\W\d_]+", source.casefold()))
    percent = int.from_bytes(hashlib.blake2b(same.encode(), digest_size=4).digest(), "big") % 100
    return next(split for split, bucket in SPLITS.items() if percent in bucket)


def write(pairs: Sequence[tuple[str, str]], folder: Path, language: str) -> dict[str, int]:
    """The three files of a language, each there as a whole or not at all; how many pairs each has."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {split: [] for split in SPLITS}
    for source, target in pairs:
        lines[split_of(source)].append(f"{source}\t{target}\n")
    for split, some in lines.items():
        file = _file(folder, language, split)
        beside = file.with_name(f".{file.name}")
        beside.write_bytes(gzip.compress("".join(some).encode(), mtime=0))
        beside.replace(file)
    return {split: len(some) for split, some in lines.items()}


def _file(folder: Path, language: str, split: str) -> Path:
    return folder / f"en-{language}.{split}.tsv.gz"


class _Usual(HTMLParser):
    """Text without the alternatives whose class is in capitals: MAC, WIN, WRITER, ..."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden: list[bool] = [False]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "span":
            name = dict(attrs).get("class") or ""
            self.hidden.append(self.hidden[-1] or name.isupper())

    def handle_endtag(self, tag: str) -> None:
        if tag == "span" and len(self.hidden) > 1:
            self.hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self.hidden[-1]:
            self.parts.append(data)


def _unpacked(language: str, place: Path) -> Path:
    """The help pages of a language, from its Debian package."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise ValueError(
            "LibreOffice's help comes from Debian's packages, and there is no apt here; use Debian or Ubuntu"
        )
    package = f"libreoffice-help-{language.lower()}"
    _run(["apt-get", "download", "-qq", package], place, f"apt cannot fetch {package}")
    deb = next(place.glob(f"{package}_*.deb"))
    _run(["dpkg-deb", "-x", deb.name, package], place, f"{deb.name} cannot be unpacked")
    return next((place / package).glob("usr/share/libreoffice/help/*/text"))


def _run(command: list[str], place: Path, otherwise: str) -> None:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()
        raise ValueError(
            f"{otherwise} ({told[0] if told else 'it does not say why'}); is its name right, and a network there?"
        )
