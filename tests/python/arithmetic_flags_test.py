"""That arithmetic_flags.py can fail."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import arithmetic_flags  # noqa: E402

STRICT = "COMMAND ${COLDSTART_NVCC} -O3 --fmad=false -Xcompiler=-fPIC,-ffp-contract=off -c x.cu\n DEPENDS x.cu"


class Flags(unittest.TestCase):
    def wrong(self, flags):
        return arithmetic_flags.of_compiler({"file": "ref/map.c", "command": f"cc -O2 {flags} -c ref/map.c"})

    def test_strict_commands_pass(self):
        self.assertEqual(self.wrong("-ffp-contract=off -fno-fast-math"), [])
        self.assertEqual(arithmetic_flags.of_nvcc(STRICT), [])

    def test_a_missing_flag_is_named(self):
        self.assertIn("-ffp-contract=off is missing", self.wrong("-O3")[0])
        self.assertIn("--fmad=false is missing", arithmetic_flags.of_nvcc(STRICT.replace("--fmad=false", ""))[0])
        self.assertIn("host compiler", arithmetic_flags.of_nvcc(STRICT.replace(",-ffp-contract=off", ""))[0])
        self.assertEqual(arithmetic_flags.of_nvcc("nothing here"), ["gpu/cuda.cmake: no nvcc command"])

    def test_a_loose_flag_is_named(self):
        for flag in ("-Ofast", "-ffast-math", "-fassociative-math", "-ffp-contract=fast"):
            self.assertTrue(any(flag in text for text in self.wrong(f"-ffp-contract=off {flag}")), flag)
        for flag in ("--use_fast_math", "--ftz=true", "--prec-div=false", "--fmad=true"):
            self.assertTrue(any(flag in text for text in arithmetic_flags.of_nvcc(STRICT.replace("-O3", flag))), flag)


if __name__ == "__main__":
    unittest.main()
