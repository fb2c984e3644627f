# known_tasks.py SECONDS: tasks that compute, awaited in all ways that asyncio has. First it prints
# what awaits each of them, as Python sees it: a line for each chain of coroutines and names of
# tasks, "main;(task a);serve;compute" from the outermost on; then it computes. For Python 3.14 and
# later.
import asyncio
import re
import sys
import time

chains = set()
printing = True


def named(future):
    name = future.get_name() if isinstance(future, asyncio.Task) else "Task-"
    return [] if name.startswith("Task-") else ["(task %s)" % re.sub("[0-9]+", "#", name)]


def chain_of(graph):
    """From the innermost coroutine on."""
    stack = [entry.frame.f_code.co_qualname for entry in graph.call_stack]
    stack += named(graph.future)
    if len(graph.awaited_by) > 1:
        return stack + ["(awaited by several tasks)"]
    return stack + (chain_of(graph.awaited_by[0]) if graph.awaited_by else [])


def compute():
    if printing:
        chains.add(";".join(reversed(chain_of(asyncio.capture_call_graph(depth=1)))))
        return
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        sum(range(1000))


async def works():
    await asyncio.sleep(0)  # so the event loop calls it
    compute()


async def deeper(n):
    if n > 0:
        await deeper(n - 1)
    else:
        await works()


async def gathers():
    await asyncio.gather(works(), deeper(3))


async def groups():
    async with asyncio.TaskGroup() as group:
        group.create_task(deeper(1), name="group-1")
        task = group.create_task(works(), name="group-22")
        await task  # twice by the same task: a set of one


async def inner():
    await asyncio.create_task(works(), name="größe")


async def middle():
    await asyncio.create_task(inner())


async def nests():
    await asyncio.create_task(middle(), name="outer")


async def waits(task):
    await task


async def shares():
    task = asyncio.create_task(works())
    await asyncio.gather(waits(task), waits(task))


async def shields():
    await asyncio.shield(asyncio.create_task(works()))


async def has_time():
    async with asyncio.timeout(60):
        await asyncio.wait_for(works(), 60)


async def waits_for_all():
    await asyncio.wait([asyncio.create_task(works()), asyncio.create_task(deeper(2))])


class Handler:
    async def __call__(self):
        async for task in self.tasks():
            await task

    async def tasks(self):
        yield asyncio.create_task(works())
        await asyncio.create_task(works())


async def deep(n):
    await (asyncio.create_task(deep(n - 1)) if n > 0 else works())


async def all_of_them():
    for way in (gathers, groups, nests, shares, shields, has_time, waits_for_all, Handler()):
        await way()
    await deep(20)
    alone = asyncio.create_task(works())
    while not alone.done():
        await asyncio.sleep(0)


async def main():
    global printing
    await all_of_them()
    for chain in sorted(chains):
        print(chain, flush=True)
    print("--", flush=True)
    printing = False
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        await all_of_them()


asyncio.run(main())
