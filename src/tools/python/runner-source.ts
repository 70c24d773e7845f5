/** What Python is started with: it is in its memory, and therefore in the snapshot. */
export const startOptions = {
  env: { HOME: '/work', TZ: 'UTC', LANG: 'C.UTF-8', USER: 'user', LOGNAME: 'user', PYTHONINSPECT: '' },
  // Otherwise Python tells the path of the program around it.
  _sysExecutable: 'python',
}

/**
 * What runs code inside of Python: `run(code, number, results)` answers with JSON, `{result?, repr?, error?}`; what is printed leaves through the
 * descriptors 1 and 2. It is part of the snapshot: nothing in it may depend on the moment, and `begin()` renews what would be equal in every
 * process that is made from it.
 */
export const runnerSource = String.raw`
import ast, asyncio, builtins, collections, contextlib, csv, dataclasses, datetime, decimal, fractions, functools, importlib, inspect, io
import itertools, json, linecache, math, os, random, re, signal, sqlite3, statistics, string, sys, time, traceback, types, typing

_mark = '<call '
_deepest = 40
_largest = 20_000

# What leads out of Python; the process holds without this wall, too.
_closed = {'js', 'pyodide_js', 'pyodide', '_pyodide', '_pyodide_core', 'ctypes', '_ctypes', 'pyodide_ffi', 'webbrowser', 'micropip'}


class _Wall:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition('.')[0] in _closed:
            raise ModuleNotFoundError(f'No module named {name!r}: it can not be used here', name=name)


class _Results(dict):
    def __missing__(self, name):
        raise KeyError(f'{name} has given nothing in this run; write its name in the code as results["{name}"]')


def _sleep(seconds):
    if isinstance(seconds, float) and math.isnan(seconds):
        raise ValueError('Invalid value NaN (not a number)')
    if seconds < 0:
        raise ValueError('sleep length must be non-negative')
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        # The device waits without using the processor; between two waits an interrupt is heard.
        with open('/dev/wait', 'wb', buffering=0) as device:
            device.write(str(min(left, 0.05)).encode())


class _Selector:
    def select(self, timeout):
        if timeout is None:
            raise RuntimeError('The event loop waits for what can not come: there are no threads and no network.')
        if timeout > 0:
            _sleep(timeout)
        return []

    def close(self):
        pass


class _Loop(asyncio.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = _Selector()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass

    def run_in_executor(self, executor, func, *args):
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


class _Policy(asyncio.events._BaseDefaultEventLoopPolicy):
    _loop_factory = _Loop


def _no_input(prompt='', /):
    raise EOFError('nobody can be asked here: put the values into the code')


def _no_command(*args, **options):
    raise OSError(138, 'there are no other processes here')


def _end_process(*args, **options):
    raise SystemExit(1)


_main = types.ModuleType('__main__')
_main.__builtins__ = builtins
_loop = None


def begin():
    global _loop
    random.seed()
    random._inst.seed()
    for name in list(sys.modules):
        if name.partition('.')[0] in _closed:
            del sys.modules[name]
    for finder in sys.meta_path:
        getattr(finder, 'jsproxies', {}).clear()
    sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith(('_pyodide', 'pyodide'))]
    sys.meta_path.insert(0, _Wall)
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if not getattr(hook, '__module__', '').startswith(('_pyodide', 'pyodide'))]
    sys.excepthook = sys.__excepthook__
    builtins.input = _no_input
    time.sleep = _sleep
    os.system = os.popen = _no_command
    os._exit = os.abort = os.kill = _end_process
    asyncio.events._set_event_loop_policy(_Policy())
    # Pyodide puts its own in their place, which need JavaScript's event loop.
    importlib.reload(asyncio.runners)
    asyncio.run, asyncio.Runner = asyncio.runners.run, asyncio.runners.Runner
    sys.modules['__main__'] = _main
    _loop = _Loop()
    sys.setrecursionlimit(1_000)
    gc_collect()


def gc_collect():
    import gc
    gc.collect()


def _streams():
    for number, name in ((1, 'stdout'), (2, 'stderr')):
        raw = io.FileIO(number, 'wb', closefd=False)
        stream = io.TextIOWrapper(io.BufferedWriter(raw, 65536), encoding='utf-8', errors='backslashreplace')
        setattr(sys, name, stream)
        setattr(sys, f'__{name}__', stream)
    sys.stdin = io.StringIO('')


def _flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()


def _evaluate(code):
    value = eval(code, _main.__dict__)
    if not code.co_flags & inspect.CO_COROUTINE:
        return value
    return _loop.run_until_complete(value)


def _execute(source, name):
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    options = {'flags': ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, 'dont_inherit': True}
    # Both are compiled before anything runs: code that does not compile has no effect.
    body = compile(tree, name, 'exec', **options)
    expression = compile(ast.Expression(last.value), name, 'eval', **options) if last else None
    _evaluate(body)
    return _evaluate(expression) if expression else None


class _Complex(Exception):
    pass


def _plain(value, depth, budget):
    """The value as JSON has it; raises _Complex for any other, also where JSON would change it."""
    budget[0] -= 1
    kind = type(value)
    if depth > _deepest or budget[0] < 0:
        raise _Complex
    if value is None or kind is bool or kind is str:
        return value
    if kind is int and abs(value) <= 2 ** 53:
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind in (list, tuple) and len(value) <= _largest:
        return [_plain(one, depth + 1, budget) for one in value]
    if kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter) and len(value) <= _largest:
        if all(type(key) is str for key in value):
            return {key: _plain(one, depth + 1, budget) for key, one in value.items()}
    raise _Complex


def _shorten(text, limit):
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f'{text[:head]}\n[{len(text) - limit} characters left out]\n{text[head - limit:]}'


def _show(value, limit):
    if value is None:
        return {}
    try:
        text = json.dumps(_plain(value, 0, [_largest]), ensure_ascii=False)
        if len(text) <= limit:
            return {'result': text}
    except (_Complex, RecursionError):
        pass
    return {'repr': _shorten(repr(value), limit)}


def _only_own(stack):
    return traceback.StackSummary.from_list([frame for frame in stack if frame.filename.startswith(_mark)])


def _trim(told, seen):
    if told is None or id(told) in seen or len(seen) > 20:
        return
    seen.add(id(told))
    told.stack = _only_own(told.stack)
    for one in (told.__cause__, told.__context__, *(told.exceptions or ())[:20]):
        _trim(one, seen)


def _tell(error, limit):
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition('.')[0] not in _closed:
        error.add_note("Only Python's standard library is here; nothing can be installed.")
    try:
        told = traceback.TracebackException.from_exception(error, max_group_width=10, max_group_depth=5)
        _trim(told, set())
        return _shorten(''.join(told.format()).rstrip(), limit)
    except BaseException:
        return type(error).__name__


def _attempt(source, number, given, limit):
    name = f'{_mark}{number}>'
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    if given is not None:
        # Under a lock of nobody: the dictionary is new with each call that names results.
        _main.results = _Results(json.loads(given))
    try:
        return _show(_execute(source, name), limit)
    except SystemExit as error:
        return {} if error.code in (None, 0) else {'error': f'The code ended itself: SystemExit({error.code!r})'}
    except KeyboardInterrupt as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return {'stopped': True, 'error': _tell(error, limit)}
    except RecursionError as error:
        return {'error': _tell(error, limit)}
    except MemoryError as error:
        error.__traceback__ = None
        return {'error': 'MemoryError: the memory of this Python is used up. Work on less at a time; del what is not needed.'}
    except BaseException as error:
        return {'error': _tell(error, limit)}


def run(source, number, given, limit):
    # Pyodide says that JavaScript's event loop runs, always.
    asyncio.events._set_running_loop(None)
    os.chdir('/work')
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _streams()
    sys.modules['__main__'] = _main
    try:
        told = _attempt(source, number, given, limit)
    except KeyboardInterrupt:
        told = {'stopped': True, 'error': 'KeyboardInterrupt'}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _flush()
    return json.dumps(told)
`
