import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import type { Taint } from '../../agent/messages.ts'
import { contextOf } from '../../agent/react-fixture.ts'
import { preparePython } from './fixture.ts'

const sales = 'region,amount\nnorth,10\nsouth,32\n'
const python = await preparePython({ 'data/sales.csv': sales, 'notes.txt': 'first' })
after(() => python.close())
const { run, artifacts } = python

test('the value of the last expression is returned as JSON if possible, or else as its repr', async () => {
  assert.deepEqual(await run('x = 20\nx * 2 + 2'), { result: 42 })
  assert.deepEqual(await run('{"a": [1, 2.5, None, True], "b": ("é",)}'), { result: { a: [1, 2.5, null, true], b: ['é'] } })
  assert.deepEqual(await run('{1: 2}, {3}'), { result: '({1: 2}, {3})' })
  assert.deepEqual(await run('2 ** 64'), { result: '18446744073709551616' })
  assert.deepEqual(await run('float("nan")'), { result: 'nan' })
  assert.deepEqual(await run('y = 1'), {})
  assert.deepEqual(await run('None'), {})
})

test('printed text is returned, and variables stay for the next call', async () => {
  assert.deepEqual(await run('import sys\nprint("hallo")\nprint("oh", file=sys.stderr)\nkept = [1, 2]'), {
    stdout: 'hallo\n',
    stderr: 'oh\n',
  })
  assert.deepEqual(await run('kept.append(3)\nkept'), { result: [1, 2, 3] })
})

test('an exception is reported with the lines of the code only', async () => {
  const failing = 'def half(n):\n    return n / 0\n\nprint("before")\nhalf(3)'
  await assert.rejects(run(failing), (error: Error) => {
    assert.match(error.message, /^Traceback \(most recent call last\):\n {2}File "<call \d+>", line 5, in <module>\n {4}half\(3\)/)
    assert.match(error.message, /ZeroDivisionError: division by zero\n\nPrinted before:\nbefore\n$/)
    assert.doesNotMatch(error.message, /runner|pyodide|\.ts/)
    return true
  })
  await assert.rejects(run('1 +'), /SyntaxError: invalid syntax/)
  await assert.rejects(run('import json\njson.loads("{")'), (error: Error) => !error.message.includes('python314.zip'))
  await assert.rejects(run('raise SystemExit("enough")'), /ended itself: SystemExit\('enough'\)/)
  assert.deepEqual(await run('import sys\nprint("x")\nsys.exit()'), { stdout: 'x\n' })
  await assert.rejects(run('import pandas'), /Only Python's standard library is available/)
  await assert.rejects(run('input("name? ")'), /EOFError: input is not available/)
})

test('asyncio works, including top-level await', async () => {
  const source = 'import asyncio\nasync def double(n):\n    await asyncio.sleep(0.01)\n    return 2 * n\n'
  assert.deepEqual(await run(`${source}asyncio.run(double(4))`), { result: 8 })
  assert.deepEqual(await run('sum(await asyncio.gather(double(1), double(2)))'), { result: 6 })
  assert.deepEqual(await run('await asyncio.to_thread(sorted, [2, 1])'), { result: [1, 2] })
  assert.deepEqual(await run('try:\n    await asyncio.wait_for(asyncio.sleep(9), 0.01)\nexcept TimeoutError:\n    print("late")'), {
    stdout: 'late\n',
  })
  await assert.rejects(run('await asyncio.get_running_loop().create_future()'), /there are no threads and no network/)
})

test('files of the question can be read by path or by name, and cannot be changed', async () => {
  const contextFiles = ['data/sales.csv']
  const total = 'import csv\nsum(int(row["amount"]) for row in csv.DictReader(open("data/sales.csv")))'
  assert.deepEqual(await run(total, { contextFiles }), { result: 42 })
  assert.deepEqual(await run('open("sales.csv").readline()', { contextFiles }), { result: 'region,amount\n' })
  await assert.rejects(run('open("data/sales.csv", "w")', { contextFiles }), /PermissionError/)
  await assert.rejects(run('open("notes.txt").read()', { contextFiles }), /FileNotFoundError/)
})

test('a file withheld by a data filter is not available, and variables from an earlier read are gone', async () => {
  const contextFiles = ['notes.txt']
  const isWithheld = (path: string) => path === 'notes.txt'
  assert.deepEqual(await run('text = open("notes.txt").read()\ntext', { contextFiles, session: 'filtered' }), { result: 'first' })
  await assert.rejects(run('text', { session: 'filtered', isWithheld }), /NameError(.|\n)*earlier calls are gone/)
  await assert.rejects(
    run('open("notes.txt")', { contextFiles, session: 'filtered', isWithheld }),
    /FileNotFoundError(.|\n)*data filter restricts/,
  )
})

test('files written by the code are saved, but not files that are only read, hidden or linked', async () => {
  artifacts.clear()
  const code = [
    'import os, pathlib, shutil',
    'open("table.csv", "w").write("a\\n1\\n")',
    'os.makedirs("out/deep", exist_ok=True)',
    'pathlib.Path("out/deep/image.bin").write_bytes(bytes([0, 255]))',
    'pathlib.Path(".hidden").write_text("x"); os.makedirs("__pycache__", exist_ok=True)',
    'pathlib.Path("__pycache__/x.pyc").write_text("x"); pathlib.Path("/tmp/other").write_text("x")',
    'os.symlink("/lib/python314.zip", "library.zip")',
  ].join('\n')
  const outcome = await run(code, { contextFiles: ['notes.txt'] })
  assert.deepEqual(outcome.files, ['table.csv', 'image.bin'])
  assert.deepEqual(Object.fromEntries(artifacts), { 'table.csv': Buffer.from('a\n1\n'), 'image.bin': Buffer.from([0, 255]) })
  artifacts.clear()
  assert.deepEqual(await run('open("table.csv").read()'), { result: 'a\n1\n' })
  assert.deepEqual((await run('f = open("table.csv", "a"); f.write("2\\n"); f.close()')).files, ['table.csv'])
  assert.equal(artifacts.get('table.csv')?.toString(), 'a\n1\n2\n')
})

test('files of a failed call are saved, and files beyond the limit are listed', async () => {
  artifacts.clear()
  await assert.rejects(run('open("half.txt", "w").write("half")\n1 / 0'), /ZeroDivisionError(.|\n)*Files written: half.txt/)
  assert.equal(artifacts.get('half.txt')?.toString(), 'half')
  const { files, note } = await run('for n in range(25): open(f"many{n}.txt", "w").write("x")')
  assert.equal(files?.length, 20)
  assert.match(note ?? '', /Not saved \(limit: 20 files and 50 MB per call\): .*many24\.txt\.$/)
  const refused = await run('open("full.txt", "w").write("x")', { artifact: () => Promise.reject(new Error('The disk is full.')) })
  assert.deepEqual(refused, { result: 1, note: 'full.txt was not saved: The disk is full.' })
})

test('code gets the last results of the tools that it names', async () => {
  const requested: string[] = []
  const latestOutput = (tool: string) => (requested.push(tool), tool === 'sales' ? { rows: [{ amount: 10 }, { amount: 32 }] } : undefined)
  const code = 'rows = results["sales"]["rows"]\nsum(row["amount"] for row in rows), results.get("orders")'
  assert.deepEqual(await run(code, { latestOutput }), { result: [42, null] })
  assert.deepEqual(requested, ['sales', 'orders'])
  await assert.rejects(run('results["orders"]', { latestOutput }), /orders has returned no result in this run/)
})

test('long texts are shortened in the middle, and the answer stays JSON within its limit', async () => {
  const { tool } = python.build({}, { maxOutputCharacters: 1_000, spareDelayMs: 3_600_000 })
  const outcome = await tool.execute({ code: 'print("\\"" * 3000 + "end")\n["é\\n"] * 400' }, contextOf())
  const { stdout, result } = outcome as { stdout: string; result: string }
  assert.ok(JSON.stringify(outcome).length <= 1_000)
  assert.match(stdout, /^"+\n\[\d+ characters left out\]\n"*end\n$/)
  assert.match(result, /^\['é\\n', (.|\n)*characters left out/)
})

test('every process started from the snapshot has its own random numbers', async () => {
  const code =
    'import random, uuid, secrets, os, tempfile\n[random.random(), str(uuid.uuid4()), secrets.token_hex(4), os.urandom(4).hex(), random.Random().random(), tempfile.mktemp()]'
  const first = (await run(code, { session: 'first' })).result as unknown[]
  const second = (await run(code, { session: 'second' })).result as unknown[]
  for (const [index, value] of first.entries()) assert.notEqual(value, second[index])
  const [now, zone] = (await run('import time\n[time.time(), time.timezone]')).result as [number, number]
  assert.ok(Math.abs(now * 1000 - Date.now()) < 10_000)
  assert.equal(zone, 0)
})

test('variables keep the taint of what the model was shown when they were made', async () => {
  const page = { sources: [{ tool: 'web_page', callId: 'c1' }], isPrivate: false }
  const clean = { sources: [], isPrivate: false }
  const taints: Taint[] = []
  const addTaint = (taint: Taint) => void taints.push(taint)
  await run('text = "from the page"', { session: 'tainted', shown: page, addTaint })
  await run('text', { session: 'tainted', shown: clean, addTaint })
  await run('1', { session: 'another', shown: clean, addTaint })
  assert.deepEqual(taints, [page, page, clean])
})
