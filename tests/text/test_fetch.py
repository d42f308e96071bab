"""Getting data sets: from a server of our own, and LibreOffice's help from pages like Debian's."""

import gzip
import hashlib
import stat
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from regard.text import datasets, fetch
from regard.text import help as libreoffice
from regard.text.fetch import Remote, downloads

TEXT = "Ein Hund läuft.\n" * 100


@pytest.fixture
def server():
    """Files by path, some of which break off; every request is remembered."""
    files, requests, broken = {}, [], set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, self.headers.get("Range")))
            content = files.get(self.path)
            if content is None:
                return self.send_error(404)
            first = int((self.headers.get("Range") or "bytes=0-")[6:-1])
            if first >= len(content):
                return self.send_error(416)
            self.send_response(206 if first else 200)
            self.send_header("Content-Length", str(len(content) - first))
            self.end_headers()
            rest = content[first:]
            self.wfile.write(rest[: len(rest) // 2] if self.path in broken else rest)

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    http.files, http.requests, http.broken = files, requests, broken
    http.url = f"http://127.0.0.1:{http.server_port}"
    yield http
    http.shutdown()
    http.server_close()


@pytest.fixture
def set_of_one(server, monkeypatch, tmp_path):
    """A data set of one packed file, on the server."""
    packed = gzip.compress(TEXT.encode(), mtime=0)
    server.files["/mirror/captions/raw/a.en.gz"] = packed
    monkeypatch.setenv("REGARD_MIRROR", f"{server.url}/mirror/")
    remote = Remote("raw/a.en.gz", "http://nowhere.invalid/a.en.gz", hashlib.sha256(TEXT.encode()).hexdigest())
    return downloads([remote])


def test_a_file_is_downloaded_checked_and_then_left_alone(set_of_one, server, tmp_path):
    told = list(set_of_one(tmp_path / "captions", ()))
    file = tmp_path / "captions" / "raw" / "a.en.gz"
    assert gzip.decompress(file.read_bytes()).decode() == TEXT
    assert told[-1] == f"{tmp_path / 'captions'} is complete"
    list(set_of_one(tmp_path / "captions", ()))
    assert len(server.requests) == 1
    assert [path.name for path in file.parent.iterdir()] == ["a.en.gz"]


def test_a_file_that_is_not_packed_there_is_packed_here(set_of_one, server, tmp_path):
    server.files["/mirror/captions/raw/a.en.gz"] = TEXT.encode()
    list(set_of_one(tmp_path / "captions", ()))
    assert gzip.decompress((tmp_path / "captions" / "raw" / "a.en.gz").read_bytes()).decode() == TEXT


def test_a_download_that_broke_off_goes_on_where_it_stopped(set_of_one, server, tmp_path):
    path = "/mirror/captions/raw/a.en.gz"
    server.broken.add(path)
    with pytest.raises(ValueError, match=r"cannot be downloaded.*what came is kept"):
        list(set_of_one(tmp_path / "captions", ()))
    server.broken.clear()
    list(set_of_one(tmp_path / "captions", ()))
    half = len(server.files[path]) // 2
    assert server.requests == [(path, None), (path, f"bytes={half}-")]
    assert gzip.decompress((tmp_path / "captions" / "raw" / "a.en.gz").read_bytes()).decode() == TEXT


def test_a_file_with_another_content_is_refused_and_not_kept(set_of_one, server, tmp_path):
    server.files["/mirror/captions/raw/a.en.gz"] = b"<html>please log in</html>"
    with pytest.raises(
        ValueError, match=r"is not what it should be: its SHA-256 is \w{64}, not \w{64}; nothing was kept"
    ):
        list(set_of_one(tmp_path / "captions", ()))
    assert list((tmp_path / "captions" / "raw").iterdir()) == []


def test_damage_here_is_mended_by_fetching_again(set_of_one, tmp_path):
    list(set_of_one(tmp_path / "captions", ()))
    file = tmp_path / "captions" / "raw" / "a.en.gz"
    file.write_bytes(file.read_bytes()[:-9])
    list(set_of_one(tmp_path / "captions", ()))
    assert gzip.decompress(file.read_bytes()).decode() == TEXT


def test_a_file_that_is_not_on_the_server_is_one_sentence(set_of_one, server, tmp_path):
    server.files.clear()
    with pytest.raises(ValueError, match=r"raw/a\.en\.gz cannot be downloaded \(Not Found\); try again later"):
        list(set_of_one(tmp_path / "captions", ()))


def test_a_server_that_is_not_there_is_one_sentence(set_of_one, server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(ValueError, match=r"cannot be downloaded \(.*refused.*\)"):
        list(set_of_one(tmp_path / "captions", ()))


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "shared"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("REGARD_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    return tmp_path / "shared"


def test_what_is_here_is_used_and_nothing_downloaded(home):
    (home / "multi30k" / "raw").mkdir(parents=True)
    (home / "multi30k" / "raw" / "train.en.gz").write_bytes(b"")
    assert datasets.there("multi30k") == home / "multi30k"
    assert list(datasets.fetch("multi30k")) == [f"multi30k is here already, in {home / 'multi30k'}"]
    assert datasets.there("tatoeba") is None


def test_an_unknown_data_set_is_answered_with_the_nearest(home):
    with pytest.raises(ValueError, match="there is no data set 'multi3k'; perhaps you meant multi30k"):
        list(datasets.fetch("multi3k"))
    with pytest.raises(
        ValueError, match="there is no data set 'xyzzy'; there are: libreoffice-help, multi30k, tatoeba"
    ):
        list(datasets.fetch("xyzzy"))


def test_languages_are_for_sets_that_have_a_choice(home):
    with pytest.raises(ValueError, match="multi30k comes as a whole; leave out --languages"):
        list(datasets.fetch("multi30k", ["de"]))


def test_what_no_command_can_get_says_how_to_get_it(home):
    with pytest.raises(ValueError, match=r"tatoeba cannot be fetched; take sentence pairs from"):
        list(datasets.fetch("tatoeba"))


def test_a_checksum_is_of_the_text_however_it_is_packed(tmp_path):
    file = tmp_path / "a"
    for packed in (gzip.compress(TEXT.encode(), 1), gzip.compress(TEXT.encode(), 9), TEXT.encode()):
        file.write_bytes(packed)
        assert fetch.digest(file) == hashlib.sha256(TEXT.encode()).hexdigest()


def test_what_unpacks_to_too_much_is_not_kept(set_of_one, server, tmp_path, monkeypatch):
    """F3: a small file can unpack to terabytes, and a server can go on for ever."""
    monkeypatch.setattr(fetch, "LARGEST", 1 << 20)
    folder = tmp_path / "captions"
    server.files["/mirror/captions/raw/a.en.gz"] = gzip.compress(bytes(64 << 20), 9)
    with pytest.raises(ValueError, match=r"its SHA-256 is that of a larger file, not .*; nothing was kept"):
        list(set_of_one(folder, ()))
    assert list((folder / "raw").iterdir()) == []
    server.files["/mirror/captions/raw/a.en.gz"] = bytes(2 << 20)
    with pytest.raises(ValueError, match=r"cannot be downloaded \(more than 1,048,576 bytes came\)"):
        list(set_of_one(folder, ()))


SWITCH = (
    '<span class="switchinline"><span hidden="true" class="MAC"><span class="keycode">Command</span></span>'
    '<span hidden="true" id="default1"><span class="keycode">Ctrl</span></span></span>'
    '<span class="keycode"> + F</span>'
)


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ('Choose <span class="emph">Edit &gt; Find</span>.', "Choose Edit > Find."),
        (f"Press {SWITCH} to search.", "Press Ctrl + F to search."),
        (f"Press {SWITCH} &amp; wait.", "Press Ctrl + F & wait."),
        (' a\n  <img alt="Icon"> b\t', "a b"),
    ],
)
def test_a_paragraph_is_read_as_on_linux(inside, text):
    assert libreoffice.plain(inside) == text


def pages(folder, language, paragraphs):
    (folder / "writer").mkdir(parents=True)
    body = "\n".join(f'<p id="{ident}" class="{kind}" dir="auto">{text}</p>' for ident, kind, text in paragraphs)
    title = f'<p>no id</p><h1 id="hd_id1" dir="auto">Title {language}</h1>'
    page = f'<html lang="{language}"><body>{title}{body}</body></html>'
    (folder / "writer" / "main.html").write_text(page, encoding="utf-8")
    return folder


def test_paragraphs_are_joined_by_their_ids(tmp_path):
    english = [("par_id1", "paragraph", "A"), ("par_id2", "paragraph", "same"), ("par_id3", "code", "x = 1"),
               ("par_id4", "listitem", "only here"), ("par_id5", "paragraph", "A")]  # fmt: skip
    german = [("par_id1", "paragraph", "Ä"), ("par_id2", "paragraph", "same"), ("par_id3", "code", "y = 1"),
              ("par_id5", "paragraph", "Ä")]  # fmt: skip
    found = libreoffice.joined(
        libreoffice.paragraphs(pages(tmp_path / "en", "en", english)),
        libreoffice.paragraphs(pages(tmp_path / "de", "de", german)),
    )
    assert found == [("Title en", "Title de"), ("A", "Ä")]


def test_sources_that_differ_in_case_digits_or_punctuation_stay_in_one_split():
    assert len({libreoffice.split_of(text) for text in ("Page 1 of 2", "page 17 of 3.", "PAGE of")}) == 1
    splits = [libreoffice.split_of(f"word {chr(97 + n % 26)}{chr(97 + n // 26)}") for n in range(600)]
    assert 5 < splits.count("valid") < 40
    assert 5 < splits.count("test") < 40


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """apt-get and dpkg-deb that only know two packages, made of the pages above."""
    packages = tmp_path / "packages"
    for name, folder, word in (("en-us", "en-US", "word"), ("de", "de", "Wort")):
        text = [(f"par_id{n}", "paragraph", f"{word} {chr(97 + n % 26)} {chr(97 + n // 26)}") for n in range(200)]
        pages(
            packages / f"libreoffice-help-{name}" / "usr" / "share" / "libreoffice" / "help" / folder / "text",
            name,
            text,
        )
    programs = tmp_path / "bin"
    programs.mkdir()
    scripts = {
        "apt-get": f'test -d "{packages}/$3" || {{ echo "E: Unable to locate package $3" >&2; exit 100; }}\n'
        'touch "$3_1_all.deb"',
        "dpkg-deb": f'cp -r "{packages}/$3" "$3"',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "libreoffice-help"


def test_help_comes_from_debians_packages(apt):
    told = list(datasets.fetch("libreoffice-help", ["de"]))
    assert told[0] == "English: 201 paragraphs"
    lines = {}
    for split in ("train", "valid", "test"):
        with gzip.open(apt / f"en-de.{split}.tsv.gz", "rt", encoding="utf-8") as file:
            lines[split] = file.read().splitlines()
    assert sum(map(len, lines.values())) == 201
    assert all(lines.values())
    assert "word a a\tWort a a" in [line for some in lines.values() for line in some]
    assert list(datasets.fetch("libreoffice-help", ["de"])) == [f"{apt / 'en-de.train.tsv.gz'} is there already"]


def test_a_language_that_debian_does_not_have_is_one_sentence(apt):
    with pytest.raises(ValueError, match=r"apt cannot fetch libreoffice-help-tlh \(E: Unable to locate package"):
        list(datasets.fetch("libreoffice-help", ["tlh"]))


def test_without_apt_it_says_so(apt, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ValueError, match="there is no apt here; use Debian or Ubuntu"):
        list(datasets.fetch("libreoffice-help", ["de"]))
