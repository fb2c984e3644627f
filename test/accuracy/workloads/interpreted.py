# Work in the interpreter and in functions of its C code: interpreted.py SECONDS
import json
import re
import sys
import time


def spin(n):
    x = 1
    for i in range(n):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
    return x


def recurse(n):
    return recurse(n - 1) + 1 if n else spin(2000)


class Ordered:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return spin(5) > 0 and self.value < other.value


def turn():
    recurse(30)
    sorted([Ordered(i * 7919 % 101) for i in range(50)])
    json.loads(json.dumps([{"key": i, "value": [1.5, "text", None]} for i in range(100)]))
    re.sub(r"(\w+)-(\d+)", lambda m: m.group(2) + m.group(1), "word-12 " * 100)
    sum(map(spin, [10, 20, 30]))


until = time.process_time() + float(sys.argv[1])
while time.process_time() < until:
    turn()
