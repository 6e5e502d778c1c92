# SPDX-License-Identifier: Apache-2.0
"""MessagePack between parley and python3-msgpack: python.py CONVERT"""

import base64
import json
import os
import random
import struct
import subprocess
import sys
import unittest

import msgpack

PROGRAM = sys.argv.pop(1)
with open(os.path.join(os.path.dirname(__file__), "messages.ndjson"), encoding="utf-8") as file:
    MESSAGES = [json.loads(line) for line in file]

LENGTHS = [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536]
INTEGERS = [sign * (2**bits + more) for bits in (0, 5, 7, 8, 15, 16, 31, 32, 53, 62)
            for more in (-1, 0, 1) for sign in (1, -1)] + [2**63 - 1, -(2**63)]
FLOATS = [0.5, 0.1, -2.25, 1.0, -0.0, 1e300, 5e-324, 1e16, 1e-5, 123456.789]
FAMILIES = (
    [{"simple": [None, True, False]}]
    + [{"integer": integer} for integer in INTEGERS]
    + [{"float": number} for number in FLOATS]
    + [{"text": "x" * length} for length in LENGTHS]
    + [{"list": [1] * length} for length in LENGTHS]
    + [{"map": {f"k{i}": i for i in range(length)}} for length in LENGTHS]
    + [{"text": "\0\n\"\\é€😀"}, {"nested": [[], {}, [[{"a": [{}]}]]]}]
)


def convert(lines):
    """One line of answer for each line of input."""
    result = subprocess.run([PROGRAM], input="".join(line + "\n" for line in lines),
                            capture_output=True, encoding="utf-8", check=True)
    answers = result.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def same(left, right):
    """Equal, and floats where there were floats."""
    return json.dumps(left) == json.dumps(right)


class Interoperation(unittest.TestCase):
    def test_parley_reads_what_python_writes(self):
        values = MESSAGES + FAMILIES
        for value, answer in zip(values, convert([msgpack.packb(v).hex() for v in values])):
            self.assertTrue(same(json.loads(answer), value), answer[:200])

    def test_parley_reads_bin(self):
        values = [bytes([0xFE]) * length for length in LENGTHS]
        answers = convert([msgpack.packb({"a": value}).hex() for value in values])
        for value, answer in zip(values, answers):
            self.assertEqual(json.loads(answer)["a"], base64.b64encode(value).decode())

    def test_parley_writes_floats_as_python_does(self):
        """Python's repr is the shortest that reads back; its JSON is compared digit by digit."""
        source = random.Random(7)
        singles = [struct.unpack("<f", struct.pack("<f", source.uniform(-9, 9)))[0]
                   for _ in range(2000)]
        doubles = [source.uniform(-1, 1) * 10 ** source.randint(-4, 15) for _ in range(4000)]
        answers = convert([msgpack.packb({"a": number}).hex() for number in singles + doubles]
                          + [msgpack.packb({"a": n}, use_single_float=True).hex() for n in singles])
        for number, answer in zip(singles + doubles + singles, answers):
            self.assertEqual(answer.replace("e-", "e-0").replace("e-01", "e-1"),
                             json.dumps({"a": number}, separators=(",", ":")))

    def test_python_reads_what_parley_writes(self):
        values = MESSAGES + FAMILIES
        for value, answer in zip(values, convert([json.dumps(value) for value in values])):
            self.assertTrue(same(msgpack.unpackb(bytes.fromhex(answer)), value), answer[:200])

    def test_both_write_the_same_bytes_where_there_is_one_shortest_form(self):
        values = [value for value in MESSAGES + FAMILIES if "." not in json.dumps(value)
                  and "e-" not in json.dumps(value) and "e+" not in json.dumps(value)]
        for value, answer in zip(values, convert([json.dumps(value) for value in values])):
            self.assertEqual(answer, msgpack.packb(value).hex())

    def test_extension_types_are_refused(self):
        for value in (msgpack.ExtType(5, b"x"), msgpack.Timestamp(1705392000)):
            self.assertRegex(convert([msgpack.packb({"at": value}).hex()])[0],
                             "^GW-001 extension types")


if __name__ == "__main__":
    unittest.main()
