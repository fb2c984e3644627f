# known_paths.py SECONDS FILE: takes turns of calls of all kinds until there is that file, and for so
# many seconds of CPU time from then on. Prints when these begin and when they have ended (ms since
# 1970), and its version.
# known_paths.py truth FILE: takes short turns and writes each path of calls into FILE, as
# Python's own tracing sees it (python_judge.js). For Python 3.6 and later.
import asyncio
import contextlib
import functools
import gc
import hashlib
import json
import posix
import re
import sys
import threading
import time

try:
    import ctypes
except ImportError:
    ctypes = None
try:
    import numpy
except ImportError:
    numpy = None

DEEP = 900
work = 6000  # rounds of acc_spin(), some 0.3 ms
rounds = 3  # of "truth"
seconds = 0  # of CPU time
until = 0


def acc_spin(times=1):
    x = 1
    for _ in range(times * work):
        x = x * 48271 % 2147483647
        if x < 0:
            raise ValueError(  # never
                x)
    return x


def acc_recurse(depth, times=1):
    if depth == 0:
        return acc_spin(times)
    return acc_recurse(
        depth - 1,
        times,
    )


class AccBase:
    def __init__(self, n):
        self.n = n
        acc_spin()

    def acc_method(self):
        return self.acc_more(key=1)

    def acc_more(self, key):
        raise NotImplementedError

    @classmethod
    def acc_made(cls):
        return cls(1).acc_method()

    @staticmethod
    def acc_static():
        return acc_spin()

    @property
    def acc_property(self):
        return acc_spin()

    def __add__(self, other):
        return acc_spin()

    def __getattr__(self, name):
        return acc_spin()

    def __lt__(self, other):
        return acc_spin() < 0

    def __iter__(self):
        for i in range(2):
            yield acc_spin()


class AccFinal:
    def __del__(self):
        acc_spin(2)


class AccDerived(AccBase):
    def __init__(self, n):
        super().__init__(n)
        acc_spin()

    def acc_more(self, key):
        return acc_spin(2)

    def __call__(self, *args, **kwargs):
        return acc_spin(2)


def acc_recursion():
    return acc_recurse(20, 20)


def acc_deep():
    return acc_recurse(DEEP, 20)


def acc_methods():
    AccDerived.acc_made()
    made = AccDerived(2)
    made.acc_static()
    made + made.acc_property
    made.anything
    sorted([made, made])
    list(made)
    made(1, key=2)
    AccFinal()  # in no variable: tracing keeps copies of variables until 3.10


def acc_decorated(function):
    @functools.wraps(function)
    def acc_wrapper(*args, **kwargs):
        result = None
        try:
            result = function(*args,
                              **kwargs)
        finally:
            del args
        return result
    return acc_wrapper


@acc_decorated
@acc_decorated
@acc_decorated
def acc_thrice(times):
    return acc_spin(times)


@functools.lru_cache(maxsize=1)
def acc_cached(times, turn):
    return acc_spin(times)


@contextlib.contextmanager
def acc_context():
    acc_spin()
    yield 1
    acc_spin()


def acc_decorators():
    acc_thrice(10)
    acc_cached(10, time.time())
    with acc_context():
        acc_spin()


def acc_inner_steps():
    acc_spin(3)
    yield 1
    acc_spin(3)
    yield 2


def acc_steps():
    yield from acc_inner_steps()
    for step in acc_inner_steps():
        yield acc_spin(3)


def acc_generators():
    total = sum(acc_spin() for _ in acc_steps())
    return total, [acc_spin() for _ in range(4)], {x: acc_spin() for x in range(4)}


def acc_raise(depth):
    try:
        if depth == 0:
            raise KeyError
        acc_raise(depth - 1)
    finally:
        acc_spin(2)


def acc_exceptions():
    try:
        acc_raise(6)
    except KeyError:
        acc_spin(5)


generated = compile("def acc_generated(times):\n\n    return spin(times)\n\n\nacc_generated(10)\n",
                    "<generated>", "exec")


def acc_exec():
    exec(generated, {"spin": acc_spin})

    class AccBody:
        value = acc_spin(5)


def acc_eval():
    eval("spin(5)", {"spin": acc_spin})  # code that is gone with this call


def acc_key(x):
    return acc_spin()


def acc_add(x, y):
    return acc_spin()


def acc_compare(x, y):
    acc_spin()
    return 0


def acc_callbacks():
    sorted(range(6), key=acc_key)
    functools.reduce(acc_add, range(6))
    list(map(acc_key, range(6)))
    list(filter(acc_key, range(6)))
    max(range(6), key=lambda x: acc_key(x))
    json.dumps([object()] * 4, default=acc_key)
    [1, 2].sort(key=functools.cmp_to_key(acc_compare))


def acc_foreign():
    integers = (ctypes.c_int * 4)(4, 2, 3, 1)
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(acc_compare)
    ctypes.CDLL(None).qsort(integers, 4, ctypes.sizeof(ctypes.c_int), function)


text = "abc " * 10
stubborn = re.compile("(a+)+b")


def acc_regular():
    re.sub("b", lambda match: str(acc_spin()), text)
    for _ in range(1 if work < 1000 else 10):
        stubborn.match("a" * 15)


async def acc_coroutine(times):
    acc_spin(times)
    await asyncio.sleep(0)
    return acc_spin(times)


async def acc_awaits():
    await acc_coroutine(3)
    return await asyncio.gather(acc_coroutine(3), acc_coroutine(3))


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


def acc_asyncio():
    return loop.run_until_complete(acc_awaits())


def acc_thread_one():
    acc_recurse(5, 20)


def acc_thread_two():
    for _ in range(1 if work < 1000 else 40):
        hashlib.sha256(b"x" * 100000).digest()  # without the lock of the interpreter
    acc_recurse(5, 5)


def acc_threads():
    threads = [threading.Thread(target=f) for f in (acc_thread_one, acc_thread_two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def acc_collect():
    for _ in range(500):
        ring = []
        ring.append(ring)
    gc.collect()


def acc_numpy():
    numbers = numpy.arange(20000 if work > 1000 else 20, dtype=float)
    numpy.sort(numpy.sin(numbers))
    numpy.frompyfunc(acc_key, 1, 1)(numpy.arange(4))
    numpy.apply_along_axis(acc_key, 0, numpy.zeros((2, 3)))


turns = [acc_recursion, acc_deep, acc_methods, acc_decorators, acc_generators, acc_exceptions,
         acc_exec, acc_eval, acc_callbacks, acc_regular, acc_asyncio, acc_threads, acc_collect]
turns += [acc_foreign] if ctypes else []
turns += [acc_numpy] if numpy else []


def acc_turn():
    for turn in turns:
        turn()


def acc_goes_on():
    global rounds, until
    if seconds == 0:
        rounds -= 1
        return rounds >= 0
    if until == 0 and posix.access(sys.argv[2], 0):
        until = time.process_time() + seconds
        print("begin %d" % (time.time() * 1000), flush=True)
    return until == 0 or time.process_time() < until


def acc_main():
    while acc_goes_on():
        acc_turn()


class Truth:
    """Nodes of paths: (number of the caller's node, its line, number of the function)."""

    def __init__(self):
        self.codes, self.functions, self.nodes, self.through_c = {}, [], {}, set()
        self.calls = threading.local()

    def function(self, code):
        if code not in self.codes:
            self.codes[code] = len(self.functions)
            self.functions.append({
                "name": getattr(code, "co_qualname", code.co_name),
                "file": code.co_filename,
                "start": code.co_firstlineno,
                "lines": {code.co_firstlineno},
            })
        return self.codes[code]

    @staticmethod
    def line(frame):
        code, at = frame.f_code, frame.f_lasti
        if not hasattr(code, "co_lines"):  # until 3.9
            import dis
            lines = [line for start, line in dis.findlinestarts(code) if start <= at]
            return lines[-1] if lines else code.co_firstlineno
        for start, end, line in code.co_lines():
            if start <= at < end:
                return line
        return None

    def node(self, frame):
        frames = []
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        is_main = threading.current_thread() is threading.main_thread()
        node, line = -1, 0 if is_main else 1
        for frame in reversed(frames):
            key = (node, line, self.function(frame.f_code))
            node = self.nodes.setdefault(key, len(self.nodes))
            line = self.line(frame)
        return node

    def trace(self, frame, event, arg):
        if event == "call":
            node = self.node(frame)
            # the frame itself would keep what it refers to alive
            if getattr(self.calls, "from_c", 0) == id(frame.f_back):
                self.through_c.add(node)
        line = self.line(frame)
        if line is not None:
            self.functions[self.function(frame.f_code)]["lines"].add(line)
        return self.trace

    def profile(self, frame, event, arg):
        if event == "c_call":
            self.calls.from_c = id(frame)
        elif event in ("c_return", "c_exception", "return"):
            self.calls.from_c = 0

    def start(self):
        threading.setprofile(self.profile)
        threading.settrace(self.trace)
        sys.setprofile(self.profile)
        sys.settrace(self.trace)

    def stop(self, file):
        sys.settrace(None)
        sys.setprofile(None)
        for function in self.functions:
            function["lines"] = sorted(function["lines"])
        with open(file, "w") as out:
            json.dump({"functions": self.functions, "nodes": list(self.nodes),
                       "through_c": sorted(self.through_c)}, out)


def main():
    global work, seconds
    sys.setrecursionlimit(2000)
    truth = Truth() if sys.argv[1] == "truth" else None
    if truth:
        work = 2
        truth.start()
    else:
        seconds = float(sys.argv[1])
    acc_main()
    if truth:
        truth.stop(sys.argv[2])
    else:
        print("end %d" % (time.time() * 1000), flush=True)
        print("version " + sys.version.split()[0], flush=True)


main()
