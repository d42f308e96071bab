"""Data sets that recipes use: what they are, which are here, and how to get one. Nothing is downloaded unasked."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.text import help as libreoffice
from regard.text.fetch import Get, Remote, by_hand, downloads
from regard.text.places import place_to_write, places


@dataclass(frozen=True)
class DataSet:
    """A data set: what it is, the file that shows it is here, and the way to get it."""

    about: str
    size: str
    licence: str
    shown_by: str
    get: Get


def there(name: str) -> Path | None:
    """The folder of a data set that is here."""
    file = Path(name) / CATALOGUE[name].shown_by
    return next(((place / file).parents[len(file.parts) - 2] for place in places() if (place / file).is_file()), None)


def fetch(name: str, languages: Sequence[str] = ()) -> Iterator[str]:
    """Get a data set into the data folder, if it is not here; says what it does."""
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, 1, 0.4)
        meant = f"perhaps you meant {near[0]}" if near else f"there are: {', '.join(CATALOGUE)}"
        raise ValueError(f"there is no data set '{name}'; {meant}")
    here = there(name)
    if here is not None and not languages:
        yield f"{name} is here already, in {here}"
        return
    yield from CATALOGUE[name].get(place_to_write() / name, languages)


_MULTI30K = {  # SHA-256 of each text
    "raw/train.en.gz": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "raw/val.en.gz": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "raw/test_2016_flickr.en.gz": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "raw/test_2017_flickr.en.gz": "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98",
    "raw/train.de.gz": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "raw/val.de.gz": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "raw/test_2016_flickr.de.gz": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "raw/test_2017_flickr.de.gz": "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081",
    "raw/train.fr.gz": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "raw/val.fr.gz": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "raw/test_2016_flickr.fr.gz": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    "raw/test_2017_flickr.fr.gz": "6f3764e31dac41e9455e612958bcfd4e877c5e15cd66df2c2b2be6d9bd83e5b6",
    "tok/train.lc.norm.tok.en.gz": "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119",
    "tok/val.lc.norm.tok.en.gz": "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec",
    "tok/test_2016_flickr.lc.norm.tok.en.gz": "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
    "tok/test_2017_flickr.lc.norm.tok.en.gz": "c9d1dfd7a26add989382e534af235af9f0f658b2a30e7eb0efdaf142496ee54f",
    "tok/train.lc.norm.tok.de.gz": "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505",
    "tok/val.lc.norm.tok.de.gz": "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
    "tok/test_2016_flickr.lc.norm.tok.de.gz": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    "tok/test_2017_flickr.lc.norm.tok.de.gz": "02067e4a9402786a4fcb8c1b6f4307e4a5073ced64800abead5273b54f5f31f6",
    "tok/train.lc.norm.tok.fr.gz": "8fa41bb718412bcb7c5dfa58603842810a01543eae86a51279f9886b901266e1",
    "tok/val.lc.norm.tok.fr.gz": "b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a",
    "tok/test_2016_flickr.lc.norm.tok.fr.gz": "1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836",
    "tok/test_2017_flickr.lc.norm.tok.fr.gz": "c0583117a47b31e8a6c6a97cfe8de153e462074668f4e994764fcc80b21d33b4",
}
_CAPTIONS = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/"


def _captions() -> list[Remote]:
    """Upstream packs the raw text, but not the tokenised."""
    urls = {name: name if name.startswith("raw/") else name.removesuffix(".gz") for name in _MULTI30K}
    return [Remote(name, _CAPTIONS + urls[name], sha256) for name, sha256 in _MULTI30K.items()]


CATALOGUE = {
    "libreoffice-help": DataSet(
        "LibreOffice's help, English beside 30 languages (--languages de fr ...), some 35 000 paragraphs each",
        "2 MB each",
        "MPL-2.0",
        "en-de.train.tsv.gz",
        libreoffice.fetch,
    ),
    "multi30k": DataSet(
        "29 000 image captions in English, German and French, raw and tokenised",
        "4 MB",
        "research, non-commercial",
        "raw/train.en.gz",
        downloads(_captions()),
    ),
    "tatoeba": DataSet(
        "156 000 everyday sentences in English and French, 159 000 in English and German",
        "7 MB",
        "CC-BY 2.0",
        "eng-fra.train.tsv.gz",
        by_hand(
            "take sentence pairs from tatoeba.org or manythings.org/anki, split them by English sentence, and put "
            "eng-fra.train.tsv.gz, .val. and .test. there (English, tab, French; more columns are more references)"
        ),
    ),
}
