"""A small file of each format, made here."""

import io
import zipfile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
STYLE = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"

PO = rb"""# A comment.
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#: a.c:1
#, c-format
msgid "Open %s"
msgstr ""

msgctxt "verb"
msgid "Open"
msgstr ""

msgid "Close"
msgstr "Zu"

#, fuzzy
#| msgid "Quitt"
msgid "Quit"
msgstr "Beenden"

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid ""
"Two\n"
"lines\n"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"
"""

XLIFF_1 = b"""<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" \
source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="1"><source>Hello <g id="1">big</g> world<x id="2"/> &amp; all</source>
</trans-unit>
<trans-unit id="2"><source>Done</source><target state="final">Fertig</target></trans-unit>
<trans-unit id="3"><source>New</source><target state="new" xml:lang="de">New</target></trans-unit>
<trans-unit id="4"><source>Empty</source><target/></trans-unit>
<trans-unit id="5" translate="no"><source>Never</source></trans-unit>
<trans-unit id="6"><source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> \
<mrk mtype="seg" mid="2">Two.</mrk></seg-source></trans-unit>
</body></file></xliff>
"""

XLIFF_2 = b"""<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en">
 <file id="f"><unit id="u"><segment id="s"><source>Hello <pc id="1">bold</pc></source></segment>
  <segment id="t" state="final"><source>Two</source><target>Zwei</target></segment></unit></file>
</xliff>
"""

ANDROID = b"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="hello">Don\\'t <b>stop</b> <xliff:g id="n">%1$s</xliff:g> &amp; go</string>
    <string name="no" translatable="false">x</string>
    <plurals name="files"><item quantity="one">one file</item>
        <item quantity="other">many files</item>
    </plurals>
</resources>
"""

HTML = b"""<!DOCTYPE html><html lang="en"><head><title>My page &amp; more</title>
<script>var a="<b>x</b>"</script></head><body><h1> <b>All bold</b> </h1>
<p>Hello <b>big</b> wide\r\n   world, see <img src=x alt="A cat"> and <code>x &lt; y</code> now.<br>
Second&nbsp;line <p>tail <span translate="no">Keep me</span> ends<!-- c --></body></html>
"""

MARKDOWN = rb"""---
title: x
---
# A *Heading* here

Para with \*escapes\* &amp; an entity, **bold** and
a [link](http://a.b "t") and `code` in two lines.

> quote
> goes *on*

    code block

| a1 | b1 |
|----|----|
| `x` | A **small** dog |

```
fenced
```
"""

SRT = """1
00:00:01,000 --> 00:00:02,000
A dog <i>runs</i>
through the

2
00:00:02,500 --> 00:00:04,000
deep white snow.

3
00:00:05,000 --> 00:00:06,000
- Hello!
- Bye!
""".replace("\n", "\r\n").encode()

VTT = b"""WEBVTT

NOTE a note

intro
00:01.000 --> 00:02.000 align:left
<v Bob>Hello &amp; welcome.
"""

YAML = b"""en:
  # a comment
  title: "Hello \\"you\\""   # another
  plain: Some text here
  block: |
    First line
    second line
  folded: >-
    One
    two
  list: [one, 'it''s']
  number: 3
  link: &a Shared text
  same: *a
"""

JSON = b"""{
  "title": "Hello \\"you\\"", "nested": {"list": ["One", 2, true, "Two"]},
  "empty": "", "number": "12"
}
"""

ARB = b"""{"@@locale": "en", "hello": "Hello {name}", "@hello": {"description": "A note"}}"""

PROPERTIES = b"""# comment = no
title = Hello\\
   you
quoted=It''s {0}
path:C\\:\\\\dir \\u00fcber
"""

CSV = b'id;en;de\r\n1;"Hello; ""you""";\r\n2;Bye;Gibts\r\n3;"two\nlines"\r\n'
TSV = b"source\ttarget\nHello\t\nBye\tschon da\n"
TEXT_FILE = b"\xef\xbb\xbfFirst line.\r\n\r\n  Second line  \r\nno end"


def archive(members: dict[str, str | bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6))
            file.writestr(info, data, zipfile.ZIP_DEFLATED)
    return output.getvalue()


def docx(body: str, **others: str) -> bytes:
    document = f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    parts = {f"word/{name}.xml": text for name, text in others.items()}
    return archive({"[Content_Types].xml": "<Types/>", "word/document.xml": document, **parts})


DOCX = docx(
    '<w:p><w:pPr><w:jc w:val="left"/></w:pPr><w:r w:rsidR="1">'
    '<w:t xml:space="preserve">Hello </w:t>'
    '</w:r><w:r w:rsidR="2"><w:t>dear </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r>'
    "<w:r><w:t> world.</w:t><w:br/><w:t>Next line</w:t></w:r></w:p>"
    '<w:p><w:hyperlink w:anchor="x"><w:r><w:t>A link</w:t></w:r></w:hyperlink><w:r><w:t> and '
    '</w:t></w:r><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r>'
    "<w:instrText> PAGE </w:instrText>"
    '</w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>7</w:t></w:r><w:r>'
    '<w:fldChar w:fldCharType="end"/></w:r><w:r><w:t> pages</w:t></w:r></w:p>',
    header1=f'<w:hdr xmlns:w="{W}"><w:p><w:r><w:t>Top line</w:t></w:r></w:p></w:hdr>',
    footnotes=f'<w:footnotes xmlns:w="{W}"><w:p><w:r><w:t>A note</w:t></w:r></w:p></w:footnotes>',
)
ODT = archive(
    {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f'<office:document-content xmlns:office="{OFFICE}" xmlns:text="{TEXT}" '
        f'xmlns:style="{STYLE}"><style:style style:name="T1" style:family="text"/><text:h>A '
        '<text:span text:style-name="T2">bold</text:span><text:span text:style-name="T2"> title'
        "</text:span></text:h><text:p>See<text:note><text:note-body><text:p>The note</text:p>"
        "</text:note-body></text:note> the <text:span>plain</text:span> text<text:line-break/>"
        'and <text:span text:style-name="T1">more</text:span></text:p></office:document-content>',
        "Pictures/a.png": b"\x89PNG",
    }
)
XLSX = archive(
    {
        "xl/workbook.xml": "<workbook/>",
        "xl/sharedStrings.xml": f'<sst xmlns="{S}"><si><t>en</t></si><si><t>de</t></si><si><r>'
        "<t>Rich </t></r><r><t>text</t></r></si><si><t>Done</t></si><si><t>Fertig</t></si></sst>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData><row r="1"><c r="A1" t="s">'
        '<v>0</v></c><c r="B1" t="s"><v>1</v></c></row><row r="2"><c r="A2" t="s"><v>2</v></c>'
        "</row>"
        '<row r="3"><c r="A3" t="s"><v>3</v></c><c r="B3" t="s"><v>4</v></c></row></sheetData>'
        "</worksheet>",
    }
)

FILES = {
    "a.po": PO,
    "crlf.po": PO.replace(b"\n", b"\r\n"),
    "latin.po": PO.replace(b"UTF-8", b"ISO-8859-1").replace(b"Zu", b"F\xfcr"),
    "one.xlf": XLIFF_1,
    "two.xliff": XLIFF_2,
    "strings.xml": ANDROID,
    "a.html": HTML,
    "a.md": MARKDOWN,
    "crlf.md": MARKDOWN.replace(b"\n", b"\r\n"),
    "a.srt": SRT,
    "a.vtt": VTT,
    "a.yaml": YAML,
    "a.json": JSON,
    "a.arb": ARB,
    "a.properties": PROPERTIES,
    "a.csv": CSV,
    "a.tsv": TSV,
    "a.txt": TEXT_FILE,
    "wide.txt": "\ufeffWide text\r\nhere\r\n".encode("utf-16-le"),
    "a.docx": DOCX,
    "a.odt": ODT,
    "a.xlsx": XLSX,
}
