# known_chain.py MODE: stops in a chain of calls of all kinds, and prints that chain as Python sees
# it, in the form of check_python_frames. MODE: "sleeps" or "computes", with "-thread" behind it if
# that is to be another thread's. For Python 3.6 and later.
import functools
import itertools
import sys
import threading
import time

mode = sys.argv[1]
LONG = 3000  # lines of generated code: a table of lines that is large
WARM = 200  # rounds without a stop: the interpreter has made its code fast
armed = False


def report(frame):
    lines = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        lines.append("%s|%s|%d|%d" % (name, code.co_filename, frame.f_lineno, code.co_firstlineno))
        frame = frame.f_back
    text = "\n".join(lines) + "\n--\n"
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()
    return 1


def stop():
    if not armed:
        return
    if "sleeps" in mode:
        time.sleep(1000 * report(sys._getframe()))
    else:
        # in C, and holds the lock of the interpreter
        sum(itertools.repeat(report(sys._getframe())))


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = None
        try:
            result = function(*args,
                              **kwargs)
        finally:
            del args
        return result
    return wrapper


class Base:
    def __init__(self, depth):
        self.depth = depth
        self.recurse(
            depth,
            key=1,
        )

    @decorated
    def recurse(self, depth, key):
        if depth > 0:
            return self.recurse(depth - 1, key)
        return self.naïve()

    def naïve(self):
        return self.日本語の関数()

    def 日本語の関数(self):
        𝒳 = [self.key(x) for x in (1,)]
        return 𝒳

    def key(self, x):
        return sorted([x, x], key=lambda y: (
            self.generated(y)))

    @classmethod
    def made(cls):
        return cls(30)

    @staticmethod
    def steps():
        yield 1
        yield from inner()

    def generated(self, y):
        for step in self.steps():
            if step == 2:
                return {k: v for k, v in [(1, 2)] if y and stop()}
        return 0

    @property
    def prop(self):
        return stop()


def inner():
    try:
        raise KeyError
    except KeyError:
        yield 2


generated = compile(
    "x = 1\n" * LONG + "def generated_code(): return function(y)\n" +
    "x = 1\n" * LONG + "generated_code()\n", "<generated>", "exec")


class Handler(Base):
    def __call__(self, *args):
        return self.prop

    def generated(self, y):
        for step in self.steps():
            if step == 2:
                scope = {"function": self, "y": y}
                exec(generated, scope)
        return 0


async def waits(handler):
    return handler.made()


async def awaits(handler):
    return await waits(handler)


def main():
    global armed
    for i in range(WARM + 1):
        armed = i == WARM
        try:
            awaits(Handler).send(None)
        except StopIteration:
            pass


if "thread" in mode:
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
else:
    main()
