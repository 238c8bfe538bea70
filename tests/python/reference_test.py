"""reference.py finds what it is for: a page or stubs that say something else than the tables do not pass."""

import pathlib
import tempfile
import unittest

import reference

PAGE = "a\n<!-- one -->\nold\n<!-- end -->\nb\n"


class Reference(unittest.TestCase):
    def assert_wrong(self, words, function, *arguments):
        with self.assertRaises(reference.Wrong) as raised:
            function(*arguments)
        self.assertIn(words, str(raised.exception))

    def test_a_section_takes_what_the_table_gives(self):
        self.assertEqual(reference.renewed(PAGE, {"one": "new\n"}), "a\n<!-- one -->\nnew\n<!-- end -->\nb\n")

    def test_a_page_has_every_table_once_and_no_other(self):
        self.assert_wrong("no section <!-- two -->", reference.renewed, PAGE, {"one": "", "two": ""})
        self.assert_wrong("no table is called one", reference.renewed, PAGE, {})
        self.assert_wrong("two sections are called one", reference.renewed, PAGE + PAGE, {"one": ""})

    def test_what_differs_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "page").write_text("a\nb\n", encoding="utf-8")
            reference.compare(pathlib.Path(folder), "page", "a\nb\n")
            self.assert_wrong("page:2 is not", reference.compare, pathlib.Path(folder), "page", "a\nc\n")
            self.assert_wrong("page:2 is not", reference.compare, pathlib.Path(folder), "page", "a\n")
            self.assert_wrong("missing:1 is not", reference.compare, pathlib.Path(folder), "missing", "a\n")

    def test_every_key_of_the_sources_is_wanted(self):
        source = pathlib.Path(__file__).resolve().parents[2]
        stubs = (source / reference.STUBS).read_text(encoding="utf-8")
        page = (source / reference.PAGE).read_text(encoding="utf-8")
        reference.check_keys(source, stubs, page)
        self.assert_wrong('"recycled" is missing in scenarios/library', reference.check_keys, source, stubs.replace("recycled?", "x?"), page)
        self.assert_wrong('"recycled" is missing in scenarios/README', reference.check_keys, source, stubs, page.replace("`recycled`", "`x`"))
        self.assert_wrong('"cs.cast" is missing', reference.check_keys, source, stubs, page.replace("`cs.cast(", "`x("))


if __name__ == "__main__":
    unittest.main()
