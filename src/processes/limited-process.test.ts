import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { execPath, kill } from 'node:process'
import { test, type TestContext } from 'node:test'
import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { endProcess, startLimited, type ProcessOptions } from './limited-process.ts'

const limits = { dataKb: 2_000_000, heapMb: 64 }

/** Writes a module that starts a command, records both process ids, and loops for ever. */
async function writeModule(t: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'limited-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const notes = path.join(folder, 'notes')
  const text = `import { spawn } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
const { pid } = spawn('sleep', ['600'], { stdio: 'ignore' })
writeFileSync('${notes}.new', process.pid + ' ' + pid)
renameSync('${notes}.new', '${notes}')
for (;;);
`
  await writeFile(path.join(folder, 'busy.ts'), text)
  const read = () => readFile(notes, 'utf8').catch(() => undefined)
  return {
    module: pathToFileURL(path.join(folder, 'busy')),
    async pids(): Promise<number[]> {
      await until(async () => (await read()) !== undefined)
      const pids = String(await read())
        .split(' ')
        .map(Number)
      t.after(() => pids.filter(isAlive).forEach((pid) => kill(pid, 'SIGKILL')))
      return pids
    },
  }
}

function isAlive(pid: number): boolean {
  try {
    kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await condition()); await wait(20))
    if (Date.now() > end) throw new Error('The condition was not met within 20 s.')
}

const kinds: Record<string, Partial<ProcessOptions>> = { plain: {}, foreign: { isForeign: true }, isolated: { isIsolated: true } }

for (const [kind, options] of Object.entries(kinds)) {
  test(`kill -9 of the service ends a busy process and its children (${kind})`, async (t) => {
    const { module, pids } = await writeModule(t)
    const moduleUrl = JSON.stringify(new URL('./limited-process.ts', import.meta.url).href)
    const start = `startLimited(new URL(${JSON.stringify(module.href)}), ${JSON.stringify({ limits, ...options })})`
    const code = `import { startLimited } from ${moduleUrl}; ${start}.ref()`
    const service = spawn(execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' })
    t.after(() => service.kill('SIGKILL'))
    const started = await pids()
    assert.deepEqual(started.map(isAlive), [true, true])
    service.kill('SIGKILL')
    await once(service, 'exit')
    await until(() => !started.some(isAlive))
  })
}

test('the children of a process end with it', async (t) => {
  const { module, pids } = await writeModule(t)
  const child = startLimited(module, { limits })
  child.ref()
  const started = await pids()
  await endProcess(child)
  await until(() => !started.some(isAlive))
})

test('the system ends a process before the service when a container has no memory left', async (t) => {
  if (!existsSync('/proc/self/oom_score_adj')) return t.skip('no Linux')
  const child = startLimited(new URL('../files/document-worker', import.meta.url), { limits: { dataKb: 2_000_000, heapMb: 64 } })
  t.after(() => endProcess(child))
  const score = () => Number(readFileSync(`/proc/${child.pid}/oom_score_adj`, 'utf8'))
  while (score() !== 1000) await setImmediate()
  assert.equal(Number(readFileSync('/proc/self/oom_score_adj', 'utf8')) < 1000, true)
})
