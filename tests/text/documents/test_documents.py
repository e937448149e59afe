"""Every format: no translation changes nothing, and a translation changes the text alone."""

import io
import json
import zipfile

import pytest

from regard.text.documents.document import Code, Document, Piece, Pieces, Wish
from regard.text.documents.formats import FORMATS, read_document
from regard.text.documents.sentences import cut
from tests.text.documents.samples import FILES

WISH = Wish("en", "de")


def shouted(pieces: Pieces) -> Pieces:
    return tuple(piece.upper() if isinstance(piece, str) else piece for piece in pieces)


def translated(name: str, data: bytes, wish: Wish = WISH) -> bytes:
    """The file with everything unfinished in capitals."""
    document = read_document(name, data, wish)
    return document.write(
        {
            number: shouted(segment.pieces)
            for number, segment in enumerate(document.segments)
            if wish.overwrite or not segment.finished
        }
    )


def shown(document: Document) -> list[str]:
    """The segments with their codes as <1>, </1> and <2/>."""

    def one(piece: Piece) -> str:
        if isinstance(piece, str):
            return piece
        return {"open": "<{}>", "close": "</{}>", "alone": "<{}/>"}[piece.kind].format("·")

    return ["".join(map(one, segment.pieces)) for segment in document.segments]


def texts(name: str, data: bytes, wish: Wish = WISH) -> list[str]:
    return shown(read_document(name, data, wish))


def test_there_is_a_sample_of_every_format() -> None:
    read = {FORMATS["." + name.rpartition(".")[2]] for name in FILES}
    assert read == set(FORMATS.values())


@pytest.mark.parametrize("name", FILES)
def test_a_file_without_translations_keeps_every_byte(name: str) -> None:
    document = read_document(name, FILES[name], WISH)
    assert document.segments
    assert document.write({}) == FILES[name]


@pytest.mark.parametrize("name", FILES)
def test_a_translated_file_has_the_same_segments_in_capitals(name: str) -> None:
    everything = Wish("en", "de", overwrite=True)
    before = [each.upper() for each in texts(name, FILES[name], everything)]
    wish = Wish("", "de", overwrite=True)
    if name in ("a.po", "crlf.po", "latin.po", "one.xlf", "two.xliff", "a.csv", "a.tsv", "a.xlsx"):
        wish = everything  # they hold both languages, so the source is still there
        before = texts(name, FILES[name], everything)
    elif name == "a.arb":
        before = ["HELLO {NAME}"]
    after = texts(name, translated(name, FILES[name], everything), wish)
    assert [each.split() for each in after] == [each.split() for each in before]


@pytest.mark.parametrize("name", ["a.docx", "a.odt", "a.xlsx"])
def test_other_members_of_an_archive_keep_every_byte_and_their_order(name: str) -> None:
    old = zipfile.ZipFile(io.BytesIO(FILES[name]))
    new = zipfile.ZipFile(io.BytesIO(translated(name, FILES[name])))
    assert new.namelist() == old.namelist()
    changed = [each for each in old.namelist() if old.read(each) != new.read(each)]
    assert set(changed) <= {
        *("word/document.xml", "word/header1.xml", "word/footnotes.xml", "content.xml"),
        "xl/worksheets/sheet1.xml",
    }
    assert changed
    for info in old.infolist():
        assert new.getinfo(info.filename).date_time == info.date_time
        assert new.getinfo(info.filename).compress_type == info.compress_type


def lines_changed(old: bytes, new: bytes) -> list[str]:
    before = old.decode().splitlines()
    return [line for line in new.decode().splitlines() if line not in before]


def test_po_marks_what_is_new_and_leaves_the_rest() -> None:
    assert lines_changed(FILES["a.po"], translated("a.po", FILES["a.po"])) == [
        "#, fuzzy, c-format",
        'msgstr "OPEN %S"',
        'msgstr "OPEN"',
        "#, fuzzy, c-format",
        'msgstr[0] "%D FILE"',
        'msgstr[1] "%D FILES"',
        '"TWO\\n"',
        '"LINES\\n"',
    ]


def test_po_has_as_many_plural_forms_as_its_header_says() -> None:
    slavic = b"nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2)"
    data = FILES["a.po"].replace(b"nplurals=2; plural=(n != 1)", slavic)
    data = data.replace(b"Language: de", b"Language: ru")
    new = translated("a.po", data, Wish("en", "ru")).decode()
    forms = 'msgstr[0] "%D FILE"\nmsgstr[1] "%D FILES"\nmsgstr[2] "%D FILES"\n'
    assert forms in new
    one = FILES["a.po"].replace(b"nplurals=2; plural=(n != 1)", b"nplurals=1; plural=0")
    new = translated("a.po", one, WISH).decode()
    assert 'msgstr[0] "%D FILES"\n\n' in new
    assert "msgstr[1]" not in new


def test_the_blanks_of_a_template_are_filled() -> None:
    template = FILES["a.po"].replace(b"Language: de", b"Language: ")
    template = template.replace(
        b"nplurals=2; plural=(n != 1);", b"nplurals=INTEGER; plural=EXPRESSION;"
    )
    new = translated("a.pot", template.replace(b"=UTF-8", b"=CHARSET"), Wish("en", "pl")).decode()
    assert '"Language: pl\\n"' in new
    assert "nplurals=3" in new
    assert "charset=UTF-8" in new


def test_xliff_gets_targets_with_a_state() -> None:
    new = translated("one.xlf", FILES["one.xlf"]).decode()
    state = 'state="needs-review-translation"'
    assert f'<target {state}>HELLO <g id="1">BIG</g> WORLD<x id="2"/> &amp; ALL</target>' in new
    assert f'<target {state} xml:lang="de">NEW</target>' in new
    assert f"<target {state}>EMPTY</target>" in new
    assert '<target state="final">Fertig</target>' in new
    assert "NEVER" not in new
    assert '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg" mid="2">TWO.</mrk></target>' in new
    new = translated("two.xliff", FILES["two.xliff"]).decode()
    assert 'srcLang="en" trgLang="de">' in new
    assert '<segment id="s" state="translated" subState="regard:unreviewed">' in new
    assert '<target>HELLO <pc id="1">BOLD</pc></target></segment>' in new
    assert "<target>Zwei</target>" in new


def test_android_gets_the_forms_of_the_language() -> None:
    new = translated("strings.xml", FILES["strings.xml"], Wish("en", "ru")).decode()
    for quantity in ("few", "many", "other"):
        assert f'<item quantity="{quantity}">MANY FILES</item>' in new
    assert r"DON\'T <b>STOP</b> " in new
    assert '<xliff:g id="n">%1$s</xliff:g> &amp; GO</string>' in new


def test_inline_tags_are_codes_of_their_sentence() -> None:
    assert texts("a.html", FILES["a.html"]) == [
        "My page & more",
        "All bold",
        "A cat",
        "Hello <·>big</·> wide world, see <·/> and <·/> now.",
        "Second\xa0line",
        "tail <·/> ends",
    ]
    new = translated("a.html", FILES["a.html"]).decode()
    assert '<img src=x alt="A CAT"> AND <code>x &lt; y</code> NOW.<br>' in new
    assert '<html lang="de">' in new


def test_the_inner_text_of_an_image_is_changed_inside_its_sentence() -> None:
    new = translated("a.odt", FILES["a.odt"])
    content = zipfile.ZipFile(io.BytesIO(new)).read("content.xml").decode()
    assert "SEE<text:note><text:note-body><text:p>THE NOTE</text:p>" in content
    assert '<text:span text:style-name="T2">BOLD TITLE</text:span></text:h>' in content


def test_runs_of_word_are_merged_and_formatting_is_kept() -> None:
    assert texts("a.docx", FILES["a.docx"]) == [
        "Hello dear <·>bold</·> world.",
        "Next line",
        "<·>A link</·> and <·/> pages",
        "Top line",
        "A note",
    ]
    new = translated("a.docx", FILES["a.docx"])
    body = zipfile.ZipFile(io.BytesIO(new)).read("word/document.xml").decode()
    assert (
        '<w:r><w:t xml:space="preserve">HELLO DEAR </w:t></w:r><w:r><w:rPr><w:b/></w:rPr>' in body
    )
    assert "<w:instrText> PAGE </w:instrText>" in body
    assert '<w:pPr><w:jc w:val="left"/></w:pPr>' in body


def test_markdown_keeps_its_structure_and_widths() -> None:
    new = translated("a.md", FILES["a.md"]).decode()
    assert "# A *HEADING* HERE\n" in new
    assert '\\*ESCAPES\\* & AN ENTITY, **BOLD** AND A\n[LINK](http://a.b "t") AND' in new
    assert "> QUOTE\n> GOES *ON*\n" in new
    assert "    code block\n" in new
    assert "| `x` | A **SMALL** DOG |" in new
    assert "```\nfenced\n```" in new


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1. Januar", "1\\. Januar"),
        ("- minus", "\\- minus"),
        ("a *b* c", "a \\*b\\* c"),
        ("5 * 3 * 2", "5 * 3 * 2"),
        ("C:\\*", "C:\\\\*"),
    ],
)
def test_text_that_would_be_markup_is_escaped(text: str, written: str) -> None:
    document = read_document("a.md", b"Words here.\n", WISH)
    assert document.write({0: (text,)}).decode() == written + "\n"


def test_cues_are_joined_to_a_sentence_and_cut_where_the_code_stands() -> None:
    document = read_document("a.srt", FILES["a.srt"], WISH)
    assert shown(document)[0] == "A dog <·>runs</·> through the <·/> deep white snow."
    new = document.write({0: shouted(document.segments[0].pieces)}).decode()
    assert "A DOG <i>RUNS</i> THROUGH THE\r\n\r\n2\r\n" in new
    assert "DEEP WHITE SNOW.\r\n\r\n3" in new
    cue = next(
        piece
        for piece in document.segments[0].pieces
        if isinstance(piece, Code) and piece.raw == "cue"
    )
    lost = document.write({0: (cue, "Alles in einem Text, der sich teilen muss.")}).decode()
    assert "Alles in einem Text, der sich\r\n\r\n2" in lost


DIALOGUE = """1
00:00:01,000 --> 00:00:02,000
- Where are you?
- At home.

2
00:00:03,000 --> 00:00:04,000
<i>- Stop - it's late.</i>
<i>–Well-known, -5 degrees.</i>
"""


def test_speakers_of_one_cue_are_translated_each_on_their_own_behind_their_dashes() -> None:
    document = read_document("a.srt", DIALOGUE.encode(), WISH)
    assert document.write({}) == DIALOGUE.encode()
    found = [cut(segment, "en").sentences for segment in document.segments]
    assert found == [
        [("Where are you?",), ("At home.",)],
        [("Stop - it's late.",), ("Well-known, -5 degrees.",)],
    ]
    new = translated("a.srt", DIALOGUE.encode()).decode()
    assert "- WHERE ARE YOU?\n- AT HOME.\n" in new
    assert "<i>- STOP - IT'S LATE.</i>\n<i>–WELL-KNOWN, -5 DEGREES.</i>\n" in new


def messages(text: str, target: str = "de") -> list[str]:
    segments = read_document(
        "a.json", json.dumps({"k": text}).encode(), Wish("en", target)
    ).segments
    return [
        "".join(piece if isinstance(piece, str) else f"<{piece.shown}>" for piece in each.pieces)
        for each in segments
    ]


def test_each_arm_of_an_icu_message_is_a_sentence() -> None:
    text = "You have {n, plural, =0{no files} one{# file} other{# files}} in {folder}."
    assert messages(text) == [
        "You have no files in {folder}.",
        "You have <1> file in {folder}.",
        "You have <5> files in {folder}.",
    ]
    assert json.loads(translated("a.json", json.dumps({"k": text}).encode()))["k"] == (
        "{n, plural, =0{YOU HAVE NO FILES IN {FOLDER}.} one{YOU HAVE # FILE IN {FOLDER}.} "
        "other{YOU HAVE # FILES IN {FOLDER}.}}"
    )
    nested = "{who, select, her{She {n, plural, one{has # cat} other{has # cats}}} other{They go}}"
    assert messages(nested) == ["She has <1> cat", "She has <5> cats", "They go"]
    assert json.loads(translated("a.arb", json.dumps({"k": nested}).encode()))["k"] == (
        "{who, select, her{{n, plural, one{SHE HAS # CAT} other{SHE HAS # CATS}}} other{THEY GO}}"
    )


def test_icu_messages_have_the_plural_forms_of_the_language() -> None:
    text = "{n, plural, offset:1 one{# file} other{# files}}"
    assert messages(text, "pl") == ["<1> file", "<3> files", "<7> files", "<5> files"]
    new = translated("a.json", json.dumps({"k": text}).encode(), Wish("en", "pl"))
    assert json.loads(new)["k"] == (
        "{n, plural, offset:1 one{# FILE} few{# FILES} many{# FILES} other{# FILES}}"
    )
    ordinal = "{n, selectordinal, one{#st day} other{#th day}}"
    assert messages(ordinal, "pl") == ["<1>st day", "<5>th day"]


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, one{x}",
        "{n, plural, one{a file}}",
        "the '{n, plural, other{a}}' form",
        "# of {n, plural, one{a} other{b}}",
        "{a, plural, other{# in {b, plural, other{x}}}}",
        "{n, plural, one{x} and other{y}}",
    ],
)
def test_a_message_that_is_not_clear_is_one_text(text: str) -> None:
    assert messages(text) == [text]


def test_an_apostrophe_before_a_placeholder_does_not_quote_it() -> None:
    data = json.dumps({"k": "{n, plural, other{of {name}}}"}).encode()
    new = read_document("a.json", data, Wish("en", "fr")).write({0: ("l'{name}",)})
    assert json.loads(new)["k"] == "{n, plural, one{l’{name}} other{of {name}}}"


def test_yaml_keeps_styles_comments_and_aliases() -> None:
    new = translated("a.yaml", FILES["a.yaml"]).decode()
    assert new.startswith("de:\n  # a comment\n")
    assert '"HELLO \\"YOU\\""   # another' in new
    assert "block: |\n    FIRST LINE\n    SECOND LINE\n  folded: >-\n    ONE TWO\n" in new
    assert "[ONE, 'IT''S']" in new
    assert "&a SHARED TEXT\n  same: *a\n" in new


def test_folded_yaml_with_indented_lines_means_what_it_meant() -> None:
    folded = (
        b"en:\n  a: >\n    first line\n    and more\n\n      * indented\n      * too\n\n    last\n"
    )
    (before,) = read_document("a.yaml", folded, WISH).segments
    (after,) = read_document("a.yaml", translated("a.yaml", folded), Wish("de", "de")).segments
    assert str(after.pieces[0]) == str(before.pieces[0]).upper()


def test_arb_is_of_the_other_language_and_notes_stay() -> None:
    new = translated("a.arb", FILES["a.arb"]).decode()
    assert new == (
        '{"@@locale": "de", "hello": "HELLO {NAME}", "@hello": {"description": "A note"}}'
    )


def test_columns_are_filled() -> None:
    new = translated("a.csv", FILES["a.csv"]).decode()
    assert new == (
        'id;en;de\r\n1;"Hello; ""you""";"HELLO; ""YOU"""\r\n2;Bye;Gibts\r\n'
        '3;"two\nlines";"TWO\nLINES"\r\n'
    )
    in_place = translated("a.csv", b"id,text\n1,Hello\n", Wish("en", "de", column="text"))
    assert in_place == b"id,text\n1,HELLO\n"
    sheet = zipfile.ZipFile(io.BytesIO(translated("a.xlsx", FILES["a.xlsx"]))).read(
        "xl/worksheets/sheet1.xml"
    )
    assert (
        b'<c r="B2" t="inlineStr"><is><t xml:space="preserve">RICH TEXT</t></is></c></row>' in sheet
    )
