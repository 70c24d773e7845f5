/** Options for the start of Python. The options become part of Python's memory, and therefore of the snapshot. */
export const startOptions = {
  env: { HOME: '/work', TZ: 'UTC', LANG: 'C.UTF-8', USER: 'user', LOGNAME: 'user', PYTHONINSPECT: '' },
  // The default would reveal the path of the surrounding program.
  _sysExecutable: 'python',
}

/**
 * The Python module which runs code: `run(code, number, results, limit)` returns JSON `{result?, repr?, error?, stopped?}`; printed text goes to the
 * descriptors 1 and 2. The module is part of the snapshot, so nothing at import time may depend on the time or on random numbers. `begin()` renews
 * all state which would otherwise be equal in every process started from the snapshot.
 */
export const runnerSource = String.raw`
import ast, asyncio, builtins, collections, contextlib, csv, dataclasses, datetime, decimal, fractions, functools, importlib, inspect, io
import itertools, json, linecache, math, os, random, re, signal, sqlite3, statistics, string, sys, time, traceback, types, typing

_filename_prefix = '<call '
_max_depth = 40
_max_items = 20_000

# Modules with access to JavaScript. The process is restricted without this list, too.
_blocked_modules = {'js', 'pyodide_js', 'pyodide', '_pyodide', '_pyodide_core', 'ctypes', '_ctypes', 'pyodide_ffi', 'webbrowser', 'micropip'}


class _ImportBlocker:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition('.')[0] in _blocked_modules:
            raise ModuleNotFoundError(f'No module named {name!r}: it cannot be used here', name=name)


class _Results(dict):
    def __missing__(self, name):
        raise KeyError(f'{name} has returned no result in this run; write its name in the code as results["{name}"]')


def _sleep(seconds):
    if isinstance(seconds, float) and math.isnan(seconds):
        raise ValueError('Invalid value NaN (not a number)')
    if seconds < 0:
        raise ValueError('sleep length must be non-negative')
    end = time.monotonic() + seconds
    while (remaining := end - time.monotonic()) > 0:
        # The device waits without CPU time. Interrupts are handled between two waits.
        with open('/dev/wait', 'wb', buffering=0) as device:
            device.write(str(min(remaining, 0.05)).encode())


class _Selector:
    def select(self, timeout):
        if timeout is None:
            raise RuntimeError('The event loop waits for an event that cannot occur: there are no threads and no network.')
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
    raise EOFError('input is not available: put the values into the code')


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
        if name.partition('.')[0] in _blocked_modules:
            del sys.modules[name]
    for finder in sys.meta_path:
        getattr(finder, 'jsproxies', {}).clear()
    sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith(('_pyodide', 'pyodide'))]
    sys.meta_path.insert(0, _ImportBlocker)
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if not getattr(hook, '__module__', '').startswith(('_pyodide', 'pyodide'))]
    sys.excepthook = sys.__excepthook__
    builtins.input = _no_input
    time.sleep = _sleep
    os.system = os.popen = _no_command
    os._exit = os.abort = os.kill = _end_process
    asyncio.events._set_event_loop_policy(_Policy())
    # Pyodide replaces both functions by versions that need the event loop of JavaScript.
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
    # Both parts are compiled before execution, so that code with a syntax error has no effect.
    body = compile(tree, name, 'exec', **options)
    expression = compile(ast.Expression(last.value), name, 'eval', **options) if last else None
    _evaluate(body)
    return _evaluate(expression) if expression else None


class _NotJson(Exception):
    pass


def _to_json_value(value, depth, budget):
    """Convert a value to JSON types. Raise _NotJson for a value without an exact equivalent in JSON."""
    budget[0] -= 1
    kind = type(value)
    if depth > _max_depth or budget[0] < 0:
        raise _NotJson
    if value is None or kind is bool or kind is str:
        return value
    if kind is int and abs(value) <= 2 ** 53:
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind in (list, tuple) and len(value) <= _max_items:
        return [_to_json_value(item, depth + 1, budget) for item in value]
    if kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter) and len(value) <= _max_items:
        if all(type(key) is str for key in value):
            return {key: _to_json_value(item, depth + 1, budget) for key, item in value.items()}
    raise _NotJson


def _shorten(text, limit):
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f'{text[:head]}\n[{len(text) - limit} characters left out]\n{text[head - limit:]}'


def _encode_value(value, limit):
    if value is None:
        return {}
    try:
        text = json.dumps(_to_json_value(value, 0, [_max_items]), ensure_ascii=False)
        if len(text) <= limit:
            return {'result': text}
    except (_NotJson, RecursionError):
        pass
    return {'repr': _shorten(repr(value), limit)}


def _frames_of_code(stack):
    return traceback.StackSummary.from_list([frame for frame in stack if frame.filename.startswith(_filename_prefix)])


def _trim(summary, visited):
    if summary is None or id(summary) in visited or len(visited) > 20:
        return
    visited.add(id(summary))
    summary.stack = _frames_of_code(summary.stack)
    for related in (summary.__cause__, summary.__context__, *(summary.exceptions or ())[:20]):
        _trim(related, visited)


def _format_error(error, limit):
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition('.')[0] not in _blocked_modules:
        error.add_note("Only Python's standard library is available; nothing can be installed.")
    try:
        summary = traceback.TracebackException.from_exception(error, max_group_width=10, max_group_depth=5)
        _trim(summary, set())
        return _shorten(''.join(summary.format()).rstrip(), limit)
    except BaseException:
        return type(error).__name__


def _attempt(source, number, results, limit):
    name = f'{_filename_prefix}{number}>'
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    if results is not None:
        # Each call with results gets a new dictionary.
        _main.results = _Results(json.loads(results))
    try:
        return _encode_value(_execute(source, name), limit)
    except SystemExit as error:
        return {} if error.code in (None, 0) else {'error': f'The code ended itself: SystemExit({error.code!r})'}
    except KeyboardInterrupt as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return {'stopped': True, 'error': _format_error(error, limit)}
    except RecursionError as error:
        return {'error': _format_error(error, limit)}
    except MemoryError as error:
        error.__traceback__ = None
        return {'error': 'MemoryError: the memory of this Python is used up. Process less data at a time, and delete unused variables with del.'}
    except BaseException as error:
        return {'error': _format_error(error, limit)}


def run(source, number, results, limit):
    # Pyodide marks the event loop of JavaScript as always running.
    asyncio.events._set_running_loop(None)
    os.chdir('/work')
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _streams()
    sys.modules['__main__'] = _main
    try:
        outcome = _attempt(source, number, results, limit)
    except KeyboardInterrupt:
        outcome = {'stopped': True, 'error': 'KeyboardInterrupt'}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _flush()
    return json.dumps(outcome)
`
