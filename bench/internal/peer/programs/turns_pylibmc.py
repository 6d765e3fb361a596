# turns_pylibmc.py DATA SERVER... - takes turns for vbench; see peer.go for what it is
# told and what it answers.
import platform
import resource
import sys
import time

import pylibmc

values, batches = {}, []
with open(sys.argv[1], "rb") as f:
    def line():
        return f.readline().rstrip(b"\n").decode()

    for _ in range(int(line())):
        key, size = line().split(" ")
        values[key] = f.read(int(size))
        f.readline()
    for _ in range(int(line())):
        batches.append([line() for _ in range(int(line()))])
hits = [sum(k in values for k in b) for b in batches]
client = pylibmc.Client(sys.argv[2:], behaviors={"tcp_nodelay": True})
n = 0


def call():
    global n
    i = n % len(batches)
    n += 1
    t = time.perf_counter_ns()
    got = client.get_multi(batches[i])
    took = time.perf_counter_ns() - t
    if len(got) != hits[i]:
        raise ValueError("%d hits, want %d" % (len(got), hits[i]))
    for k, v in got.items():
        if v != values[k]:
            raise ValueError("wrong value for " + k)
    return took


print("ready pylibmc %s with libmemcached %s on Python %s"
      % (pylibmc.__version__, pylibmc.libmemcached_version, platform.python_version()), flush=True)
for order in sys.stdin:
    length = int(order)
    try:
        call()
        times = []
        before = resource.getrusage(resource.RUSAGE_SELF)
        start = time.perf_counter_ns()
        while True:
            times.append(call())
            if time.perf_counter_ns() - start >= length:
                break
        elapsed = time.perf_counter_ns() - start
        after = resource.getrusage(resource.RUSAGE_SELF)
        times.sort()

        def at(q):
            return times[round(q * (len(times) - 1))]

        print(len(times), elapsed, at(0.25), at(0.5), at(0.99),
              int((after.ru_utime - before.ru_utime) * 1e9), int((after.ru_stime - before.ru_stime) * 1e9), -1, flush=True)
    except Exception as e:
        print("error %s: %s" % (type(e).__name__, str(e).replace("\n", " ")), flush=True)
