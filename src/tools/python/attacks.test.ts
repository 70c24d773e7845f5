import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { preparePython } from './fixture.ts'

const python = await preparePython({ 'secret.txt': 'hidden' })
after(() => python.close())

/** Code that reaches JavaScript after it has removed the restrictions inside Python. */
const breakOut = `
import sys, gc
sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, '__name__', '') != '_ImportBlocker']
import _pyodide_core
Object = _pyodide_core.to_js({}, depth=1).constructor
`

async function refused(code: string, message: RegExp): Promise<void> {
  const outcome = await python.run(code).then(JSON.stringify, (error: Error) => error.message)
  assert.match(outcome, message, code)
}

test('Python has no network', async () => {
  const server = createServer((socket) => socket.end('open')).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  let connections = 0
  server.on('connection', () => connections++)
  const { port } = server.address() as { port: number }
  const unreachable = /Host is unreachable|URLError|OSError|ModuleNotFoundError|gaierror|not supported|not implemented/i
  await refused(`import socket\nsocket.create_connection(("127.0.0.1", ${port}), timeout=1).recv(4)`, unreachable)
  await refused(`import urllib.request\nurllib.request.urlopen("http://127.0.0.1:${port}/").read()`, unreachable)
  await refused(
    `import http.client\nc = http.client.HTTPConnection("127.0.0.1", ${port}); c.request("GET", "/"); c.getresponse().read()`,
    unreachable,
  )
  await refused('import asyncio\nawait asyncio.open_connection("127.0.0.1", 80)', /Error/)
  await refused('from pyodide.http import pyfetch', /cannot be used here/)
  await refused('import micropip', /ModuleNotFoundError/)
  assert.equal(connections, 0)
  server.close()
})

test('Python cannot see files of the machine', async () => {
  await refused('open("/etc/passwd").read()', /FileNotFoundError/)
  await refused('open("/proc/self/environ").read()', /FileNotFoundError|Error/)
  await refused(`open(${JSON.stringify(`${python.folder}/secret.txt`)}).read()`, /FileNotFoundError/)
  await refused('import os\nsorted(os.listdir("/"))', /^\{"result":\["dev","home","lib","proc","tmp","work"\]\}$/)
  await refused('import os\ndict(os.environ)', /^\{"result":\{[^}]*"HOME":"\/work"[^}]*\}\}$/)
  assert.doesNotMatch(
    JSON.stringify(await python.run('import os, sys\n[dict(os.environ), sys.argv, sys.executable, sys.path]')),
    /tools|node/,
  )
})

test('modules with access to JavaScript cannot be imported', async () => {
  for (const name of ['js', 'pyodide_js', 'pyodide', 'pyodide.ffi', 'pyodide.code', '_pyodide', '_pyodide_core', 'ctypes']) {
    await refused(`import ${name}`, /cannot be used here/)
    await refused(`__import__('importlib').import_module('${name}')`, /cannot be used here/)
  }
})

test('in JavaScript no text becomes code, and the process, modules and hosts are out of reach', async () => {
  await refused(`${breakOut}Object.constructor("return process")()`, /EvalError/)
  await refused(`${breakOut}Object.constructor("return globalThis")()`, /EvalError/)
  await refused(`${breakOut}Object.getPrototypeOf(Object.constructor).constructor("x")`, /EvalError|Error/)
  await refused(`${breakOut}Object.getOwnPropertyDescriptor(Object.constructor.prototype, "caller")`, /Error|None|object/)
})

test("Pyodide's own objects are out of reach", async () => {
  const leaked = `${breakOut}
proxies = [o for o in gc.get_objects() if 'JsProxy' in str(type(o).__mro__) and not isinstance(o, type)]
tables = [o.jsproxies for o in gc.get_objects() if type(o).__name__ == 'JsFinder']
[len(proxies), [table for table in tables if table]]`
  assert.deepEqual((await python.run(leaked, { session: 'inside' })).result, [0, []])
})

test('code that takes over the encoding of its answer cannot make the service read more than an answer', async () => {
  const takeOver = `
import sys
frame = sys._getframe()
while '_encode_value' not in frame.f_globals: frame = frame.f_back
frame.f_globals['_encode_value'] = lambda value, limit: {'result': '[' + '1,' * 5_000_000 + '1]'}
frame.f_globals['_format_error'] = lambda error, limit: 'x' * 10_000_000`
  await python.run(takeOver, { session: 'taken' })
  await assert.rejects(python.run('1', { session: 'taken' }), /^Error: Python ended unexpectedly/)
  await python.run(takeOver, { session: 'taken' })
  await assert.rejects(python.run('1 / 0', { session: 'taken' }), /^Error: Python ended unexpectedly/)
})

test('a working directory that code has removed is restored for the next call', async () => {
  const session = 'moved'
  for (const code of [
    "import os\nos.chdir('/')\nos.rename('/work', '/elsewhere')",
    "import shutil\nos.chdir('/')\nshutil.rmtree('/work')",
    "os.chdir('/')\nos.rename('/work', '/away')\nos.symlink('/', '/work')",
    "os.chdir('/')\nos.unlink('/work') if os.path.islink('/work') else os.rename('/work', '/gone')\nopen('/work', 'w').close()",
  ]) {
    await python.run(code, { session })
    assert.deepEqual((await python.run("open('a.txt', 'w').write('here')", { session })).files, ['a.txt'], code)
  }
})

test('processes are isolated by the operating system where possible', async (t) => {
  await python.run('1')
  const pid = ownPython()
  if (process.platform !== 'linux' || pid === undefined || !canIsolate()) return t.skip('not on this system')
  assert.notEqual(await readlink(`/proc/${pid}/ns/net`), await readlink('/proc/self/ns/net'))
})

function ownPython(): number | undefined {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  const line = lines.find((line) => line.includes('tools/python/child') && line.trim().split(/\s+/)[1] === String(process.pid))
  return line === undefined ? undefined : Number(line.trim().split(/\s+/)[0])
}

function canIsolate(): boolean {
  try {
    execFileSync('unshare', ['-Un', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('code that replaces the copying of bytes can return only the written file, and nothing larger', async () => {
  const exchange = `${breakOut}
Bytes = _pyodide_core.to_js(b'x').constructor
large = Bytes.new(200_000_000)
give = _pyodide_core.create_proxy(lambda *given: large)
Array = Bytes.__proto__
for name in ('slice', 'subarray'):
    setattr(Array.prototype, name, give)
open('x.bin', 'wb').write(b'abc')
'exchanged'
`
  python.artifacts.clear()
  const outcome = await python.run(exchange).then(JSON.stringify, (error: Error) => error.message)
  assert.match(outcome, /exchanged|Python ended unexpectedly/)
  for (const bytes of python.artifacts.values()) assert.equal(bytes.toString(), 'abc')
})
