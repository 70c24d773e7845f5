import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { memoryUsage } from 'node:process'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { endProcess, setBusy, startLimited, type ProcessOptions } from './limited-process.ts'

const limits = { dataKb: 4_000_000, heapMb: 512 }

/** Starts a process whose program is the given text. */
async function startProgram(t: TestContext, text: string, options: Partial<ProcessOptions> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'channel-'))
  await writeFile(path.join(folder, 'program.ts'), text)
  const child = startLimited(pathToFileURL(path.join(folder, 'program')), { limits, ...options })
  setBusy(child, true)
  t.after(async () => {
    await endProcess(child)
    await rm(folder, { recursive: true, force: true })
  })
  return child
}

const echo = `process.on('message', (message) => process.send(message))
process.on('disconnect', () => process.exit(3))`

test('a process answers messages with bytes, including messages sent before it listened', async (t) => {
  const child = await startProgram(t, `await new Promise((resolve) => setTimeout(resolve, 50))\n${echo}`, {
    messages: { bytes: 1_000_000 },
  })
  const sent = [{ n: 1 }, { n: 2, bytes: Buffer.alloc(1_000_000, 7) }]
  const received: unknown[] = []
  const done = new Promise<void>((resolve) => child.on('message', (message) => received.push(message) === sent.length && resolve()))
  for (const message of sent) child.send(message)
  await done
  assert.deepEqual(received, sent)
  assert.equal(child.connected, true)
})

test('a process is notified when its channel closes, and its child processes have no channel', async (t) => {
  const grandchild = `import { fork } from 'node:child_process'
if (process.argv[2] === 'inner') process.send({ flags: process.execArgv })
else {
  const inner = fork(import.meta.filename, ['inner'])
  inner.on('message', (message) => process.send({ inner: message }))
}`
  const outer = await startProgram(t, grandchild)
  const [message] = (await once(outer, 'message')) as [{ inner: { flags: string[] } }]
  assert.ok(!message.inner.flags.some((flag) => flag.includes('channel')))

  const child = await startProgram(t, `${echo}\nprocess.send({ ready: true })`)
  await once(child, 'message')
  child.stdio[3]!.destroy()
  assert.deepEqual(await once(child, 'exit'), [3, null])
})

/** Resolves to the error and the signal that end a misbehaving process. */
function endOf(child: ChildProcess): Promise<{ error: unknown; signal: unknown }> {
  return new Promise((resolve) => {
    let error: unknown
    child.on('error', (cause) => (error = cause))
    child.on('exit', (_code, signal) => resolve({ error, signal }))
  })
}

const tooMuch = {
  'a text of 300 MB': `process.send({ text: 'x'.repeat(300_000_000) })`,
  'a file of 300 MB': `process.send({ file: Buffer.alloc(300_000_000) })`,
  'bytes without end': `import { writeSync } from 'node:fs'
const bytes = Buffer.alloc(1_000_000, 'x')
for (;;) try { writeSync(3, bytes) } catch {}`,
  'a message that was only announced': `import { writeSync } from 'node:fs'
writeSync(3, Buffer.from(Uint32Array.of(4_000_000_000, 4_000_000_000).buffer))
setInterval(() => {}, 1000)`,
}

for (const [title, program] of Object.entries(tooMuch)) {
  test(`a process that sends ${title} is killed before the service has read it`, async (t) => {
    const before = memoryUsage().rss
    const child = await startProgram(t, program)
    const received: unknown[] = []
    child.on('message', (message) => received.push(message))
    const { error, signal } = await endOf(child)
    assert.match(String(error), /^FrameFault: its (answer|files) (has|have) more than \d+ bytes$/)
    assert.equal(signal, 'SIGKILL')
    assert.deepEqual(received, [])
    assert.ok(memoryUsage().rss - before < 100_000_000)
  })
}

test('a message that makes its listener throw ends the process, not the service', async (t) => {
  const child = await startProgram(t, `process.send(7)\nprocess.send({ files: 7 })\nsetInterval(() => {}, 1000)`)
  child.on('message', ({ files }: { files: string[] }) => files.map((file) => file.length))
  const { error, signal } = await endOf(child)
  assert.match(String(error), /^TypeError: files\.map is not a function$/)
  assert.equal(signal, 'SIGKILL')
})
