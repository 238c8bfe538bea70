"""layering.py finds what it is for: a house that is in order passes, and each single breach of it is named."""

import pathlib
import tempfile
import unittest

import layering

HOUSE = {
    "sim/base/base.h": "",
    "sim/tensor/tensor.h": '#include "sim/base/base.h"\n',
    "sim/device/device.h": '#include "sim/tensor/tensor.h"\n',
    "sim/device/devices.c": '#include "sim/device/device.h"\nextern const struct cs_device cs_device_ref;\n',
    "sim/model/model.h": '#include "sim/device/device.h"\n',
    "sim/method/method.h": '#include "sim/method/layouts.h"\n#include "sim/model/model.h"\n',
    "sim/method/layouts.h": '#include "sim/device/device.h"\n',
    "sim/method/methods.h": '#include "sim/method/method.h"\n',
    "sim/method/mxfp4.c": '#include "sim/method/methods.h"\n',
    "sim/loader/loader.h": "",
    "sim/loader/routes.c": '#include <string.h>\n\n#include "sim/method/layouts.h"\n',
    "sim/cli/cli.h": "",
    "sim/cli/main.c": '#include "sim/cli/cli.h"\n#include "sim/loader/loader.h"\n',
    "ref/ref.h": '#include "sim/device/device.h"\n',
    "ref/fill.c": '#include "ref/ref.h"\n',
    "tests/method_test.c": '#include "sim/method/methods.h"\n',  # tests may look inside
    "README.md": "See /tmp/x and build/home/.\n",
}


def function(n_lines):
    body = "    x = '{'; /* } */ y = \"}\";\n" * (n_lines - 2)
    return f'extern "C" {{\nstruct s {{ int x; }};\nstatic int name(int a,\n    int b);\n__attribute__((hot, format(printf, 1, 2)))\nint name(int a) {{\n{body}}}\n}}\n'


class Layering(unittest.TestCase):
    def problems(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (HOUSE | changes).items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return sorted(layering.problems(pathlib.Path(folder)))

    def assert_finds(self, name, text, beginning):
        found = self.problems({name: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(beginning), found[0])

    def test_a_house_in_order_passes(self):
        self.assertEqual(self.problems({}), [])

    def test_a_folder_may_not_use_what_stands_below_it(self):
        self.assert_finds("sim/model/rank.c", '\n#include "sim/method/method.h"\n', "sim/model/rank.c:2: method stands below model")
        self.assert_finds("sim/base/text.c", '# include  "sim/tensor/tensor.h"\n', "sim/base/text.c:1: tensor stands below base")

    def test_devices_and_the_rest_see_little_of_each_other(self):
        self.assert_finds("ref/copy.c", '#include "sim/model/model.h"\n', "ref/copy.c:1: model is not for ref")
        self.assert_finds("sim/cli/run.c", '#include "ref/ref.h"\n', "sim/cli/run.c:1: ref is not for cli")
        self.assert_finds("sim/cli/run.c", "struct cs_device cs_device_ref;\n", "sim/cli/run.c: names a device")
        self.assert_finds("sim/cli/run.c", "#include <cuda_runtime.h>\n", "sim/cli/run.c:1: <cuda_runtime.h> belongs in gpu/")

    def test_private_headers_stay_private(self):
        self.assert_finds("sim/loader/a.c", '#include "sim/method/methods.h"\n', "sim/loader/a.c:1: sim/method/methods.h is private to method")

    def test_includes_are_written_from_the_top(self):
        self.assert_finds("sim/loader/a.c", '#include "loader.h"\n', 'sim/loader/a.c:1: "loader.h" is no header of the house')
        self.assert_finds("sim/loader/a.c", '#include "tests/support.h"\n', 'sim/loader/a.c:1: "tests/support.h" is no header')

    def test_every_folder_has_a_place_and_a_door(self):
        self.assert_finds("sim/attic/attic.h", "", "sim/attic: a folder without a place")
        self.assert_finds("sim/padding/fill.c", "", "sim/padding/padding.h: missing")

    def test_files_and_functions_stay_short(self):
        self.assert_finds("tests/long.py", "\n" * 501, "tests/long.py: 501 lines")
        self.assertEqual(self.problems({"tests/long.py": "\n" * 500, "gpu/gpu.h": "", "gpu/fill.cu": function(70)}), [])
        self.assert_finds("ref/copy.c", function(71), "ref/copy.c:6: name has 71 lines")

    def test_nothing_is_left_over(self):
        self.assert_finds("sim/loader/a.c", "/* TO" + "DO: more */\n", "sim/loader/a.c:1: a left-over")
        self.assert_finds("CMakeLists.txt", "# FIX" + "ME\n", "CMakeLists.txt:1: a left-over")
        self.assert_finds("README.md", "not implemented " + "yet\n", "README.md:1: a left-over")

    def test_no_path_of_one_machine(self):
        self.assert_finds("README.md", "Run /home" + "/me/x.\n", "README.md:1: a path that exists on one machine only")
        self.assert_finds(".ci/run", "cp .." + "/shared/x .\n", ".ci/run:1: a path that exists on one machine only")


if __name__ == "__main__":
    unittest.main()
