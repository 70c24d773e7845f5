import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { WorkerLost } from '../../processes/worker.ts'
import { createStarter, type Interpreter } from './interpreter.ts'
import { testAnswers, testCacheDir } from './fixture.ts'
import type { Outcome } from './messages.ts'

const start = createStarter(512, testCacheDir, testAnswers)
const shared = await start()
after(() => shared.end())
const forever = new AbortController().signal

async function run(
  code: string,
  { on = shared, limitMs = 20_000, signal = forever, inputFiles = [] as { path: string; bytes: Uint8Array }[] } = {},
) {
  const ran = await on.run({ code, inputFiles, maxCharacters: 2_000, written: { files: 5, bytes: 1_000_000 } }, { limitMs, signal })
  return { ...ran, ...(JSON.parse(ran.outcome) as Outcome) }
}

async function fails(code: string, message: RegExp): Promise<void> {
  assert.match((await run(code)).error ?? 'no failure', message, code)
}

async function withInterpreter(work: (interpreter: Interpreter) => Promise<void>): Promise<void> {
  const interpreter = await start()
  try {
    await work(interpreter)
  } finally {
    await interpreter.end()
  }
}

test('endless code is interrupted, and its variables stay', async () => {
  const endless = [
    'while True: pass',
    'sum(n for n in iter(int, 1))',
    'import re\nre.match(r"(a+)+$", "a" * 50 + "b")',
    'import time\ntime.sleep(1e9)',
    'import asyncio\nasync def spin():\n    while True: pass\nasyncio.run(spin())',
    'import asyncio\nawait asyncio.sleep(1e9)',
    'class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()',
    'try:\n    while True: pass\nexcept KeyboardInterrupt:\n    while True: pass',
  ]
  await run('kept = 1')
  for (const code of endless) {
    const { stopped, error } = await run(code, { limitMs: 150 })
    assert.equal(stopped, true, code)
    assert.match(error ?? '', /KeyboardInterrupt$|CancelledError/)
  }
  assert.equal((await run('kept')).result, '1')
})

test('code that ignores interrupts is killed with its process', async () => {
  await withInterpreter(async (interpreter) => {
    const deaf = 'while True:\n    try:\n        while True: pass\n    except BaseException: pass'
    const startedAt = performance.now()
    await assert.rejects(run(deaf, { on: interpreter, limitMs: 100 }), (error) => error instanceof WorkerLost && error.reason === 'stopped')
    assert.ok(performance.now() - startedAt < 15_000)
    await interpreter.gone
    assert.equal(interpreter.isAlive, false)
  })
})

test('an abort interrupts at once', async () => {
  const leaving = new AbortController()
  const call = run('import time\nbefore = 7\ntime.sleep(60)', { signal: leaving.signal })
  setTimeout(() => leaving.abort(), 100)
  assert.equal((await call).stopped, true)
  assert.equal((await run('before')).result, '7')
})

test('memory is limited with a MemoryError, and freed memory can be used again', async () => {
  await fails('bytearray(600_000_000)', /^MemoryError/)
  await fails('hoard = []\nwhile True: hoard.append(bytearray(5_000_000))', /^MemoryError/)
  assert.equal((await run('hoard = None\nlen(bytearray(50_000_000))')).result, '50000000')
  await fails('"x" * 10 ** 10', /MemoryError|OverflowError/)
})

test('files count as memory, their number is limited, and deleting files frees memory', async () => {
  await fails('with open("big", "wb") as f:\n    while True: f.write(bytes(4_000_000))', /No space left on device/)
  await fails('import os\nos.truncate("big", 10 ** 9)', /No space left on device/)
  await fails(
    'open("far", "wb").seek(10 ** 12)\nf = open("far", "wb"); f.seek(10 ** 9); f.write(b"x"); f.close()',
    /No space left on device/,
  )
  const { rejectedFiles } = await run('1', { inputFiles: [{ path: 'input.bin', bytes: new Uint8Array(50_000_000) }] })
  assert.deepEqual(rejectedFiles, ['input.bin'])
  await fails('import os\nos.remove("big")\nn = 0\nwhile True:\n    n += 1\n    open(f"/tmp/{n}", "w").close()', /No space left on device/)
  await run('import shutil\nfor name in os.listdir("/tmp"): os.remove("/tmp/" + name)\nopen("small", "w").write("ok")')
  assert.equal((await run('open("small").read()')).result, '"ok"')
})

test('the beginning and the end of endless output are kept', async () => {
  const { stdout, stopped } = await run('print("first")\nwhile True: print("y" * 1000)', { limitMs: 400 })
  assert.equal(stopped, true)
  assert.ok(stdout.startsWith('first\nyyy'))
  assert.ok(/\n\[\d+ bytes left out\]\ny/.test(stdout))
  assert.ok(stdout.length < 210_000)
})

test('there are no threads and no processes, and recursion is limited', async () => {
  await fails('def deeper(n): return deeper(n + 1)\ndeeper(0)', /RecursionError: maximum recursion depth exceeded$/)
  assert.equal((await run('nest = []\nfor n in range(50_000): nest = [nest]\nlen(repr(nest))')).result, '100002')
  await fails('import threading\nthreading.Thread(target=print).start()', /can't start new thread/)
  await fails('import subprocess\nsubprocess.run(["id"])', /does not support processes/)
  await fails('import os\nos.system("id")', /no other processes/)
  await fails('import os\nos.fork()', /AttributeError|NotImplementedError|OSError/)
  await fails('import multiprocessing\nmultiprocessing.Process(target=print).start()', /Error/)
  await fails('import os\nos.kill(os.getpid(), 9)', /ended itself/)
  await fails('import os\nos._exit(3)', /ended itself/)
  await fails('import os\nos.abort()', /ended itself/)
  assert.equal((await run('1 + 1')).result, '2')
})

test('a process that dies during a run is reported as lost', async () => {
  await withInterpreter(async (interpreter) => {
    const fatal = 'import sys\nsys.meta_path.pop(0)\nimport ctypes\nctypes.CDLL(None).abort()'
    await assert.rejects(run(fatal, { on: interpreter, limitMs: 5_000 }), WorkerLost)
    await interpreter.gone
  })
})

test('a killed service leaves no process behind, even a busy one', async () => {
  const script = `
    import { createStarter } from ${JSON.stringify(import.meta.resolve('./interpreter.ts'))}
    const options = { limitMs: 1e6, signal: new AbortController().signal }
    const child = await createStarter(512, ${JSON.stringify(testCacheDir)}, ${JSON.stringify(testAnswers)})()
    child.run({ code: 'x = 10 ** 10 ** 9', inputFiles: [], maxCharacters: 10, written: { files: 0, bytes: 0 } }, options).catch(() => {})
    setTimeout(() => console.log('busy'), 500)`
  const service = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(service.stdout, 'data')
  const children = await descendants(service.pid as number)
  assert.ok(children.length > 0)
  service.kill('SIGKILL')
  await once(service, 'exit')
  const endsAt = Date.now() + 5_000
  while (children.some(isAlive) && Date.now() < endsAt) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(children.filter(isAlive), [])
})

async function descendants(pid: number): Promise<number[]> {
  const ps = spawn('ps', ['-A', '-o', 'pid=,ppid='], { stdio: ['ignore', 'pipe', 'ignore'] })
  const lines = (await ps.stdout.toArray()).join('').trim().split('\n')
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return pairs.filter(([, parent]) => parent === pid).map(([child]) => child as number)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
