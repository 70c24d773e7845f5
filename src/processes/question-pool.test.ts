import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createQuestionPool } from './question-pool.ts'

interface WorkerAnswer {
  pid: number
  /** Names of the earlier questions of this process, in order. */
  earlier: string[]
}

/**
 * Processes that answer with the names of their earlier questions. The name `busy` occupies its process for 300 ms. After the name `chatty` the
 * process sends a second answer without a question.
 */
async function startWorkers(t: TestContext, { maxProcesses = 2, isBroken = false } = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'workers-'))
  const text = isBroken
    ? 'process.exit(1)'
    : `import { serveQuestions } from '${new URL('./serve-questions.ts', import.meta.url).href}'
const earlier = []
serveQuestions(async ({ name }, { id }) => {
  if (name === 'chatty') setTimeout(() => process.send({ id, answer: { pid: process.pid, earlier: [] } }), 100)
  await new Promise((resolve) => setTimeout(resolve, name === 'busy' ? 300 : 0))
  const answer = { pid: process.pid, earlier: [...earlier] }
  earlier.push(name)
  return answer
})
`
  await writeFile(path.join(folder, 'worker.ts'), text)
  const workers = createQuestionPool<{ name: string }, WorkerAnswer>({
    module: pathToFileURL(path.join(folder, 'worker')),
    limits: { dataKb: 2_000_000, heapMb: 64 },
    questionMs: 20_000,
    idleMs: 60_000,
    maxProcesses,
    errorTexts: { timedOut: 'slow', outOfMemory: 'exhausted', crashed: 'lost', closed: 'closed' },
  })
  t.after(async () => {
    await workers.close()
    await rm(folder, { recursive: true, force: true })
  })
  return (tenant: string, name = tenant) => workers.ask({ name }, AbortSignal.timeout(30_000), { tenant, owner: 'issuer user' })
}

test('a process that has worked for one tenant never works for another', async (t) => {
  const ask = await startWorkers(t)
  const tenants = ['a', 'b', 'a', 'c', 'b', 'b', 'd', 'a', 'c']
  for (const tenant of tenants) {
    const { earlier } = await ask(tenant)
    assert.ok(
      earlier.every((name) => name === tenant),
      `${tenant} after ${earlier.join()}`,
    )
  }
  const answersAt = await Promise.all(Array.from({ length: 24 }, (_, at) => ask('abcd'[at % 4]!).then((answer) => ({ ...answer, at }))))
  for (const { earlier, at } of answersAt) assert.ok(earlier.every((name) => name === 'abcd'[at % 4]))
})

test('two tenants that ask alternately keep their processes', async (t) => {
  const ask = await startWorkers(t)
  const first = await ask('a')
  const second = await ask('b')
  assert.notEqual(first.pid, second.pid)
  for (let n = 0; n < 3; n++) {
    assert.equal((await ask('a')).pid, first.pid)
    assert.equal((await ask('b')).pid, second.pid)
  }
})

test('callers that share one process take turns', async (t) => {
  const ask = await startWorkers(t, { maxProcesses: 1 })
  const ends: string[] = []
  const slow = Array.from({ length: 4 }, () => ask('a', 'busy').then(() => ends.push('a')))
  const quick = ask('b').then(() => ends.push('b'))
  await Promise.all([...slow, quick])
  assert.deepEqual(ends, ['a', 'b', 'a', 'a', 'a'])
})

test('one caller uses at most half of the processes, however many jobs wait', async (t) => {
  const ask = await startWorkers(t)
  const answers = await Promise.all(Array.from({ length: 4 }, () => ask('a', 'busy')))
  assert.equal(new Set(answers.map(({ pid }) => pid)).size, 1)
})

test('a worker that cannot start rejects the jobs of every tenant, and the next call starts it again', async (t) => {
  const ask = await startWorkers(t, { isBroken: true })
  const results = await Promise.allSettled([ask('a'), ask('b'), ask('c')])
  assert.ok(results.every(({ status }) => status === 'rejected'))
  await assert.rejects(ask('a'), /lost/)
})

test('a process that answers without a question is replaced', async (t) => {
  const ask = await startWorkers(t)
  const { pid } = await ask('a', 'chatty')
  await whenGone(t, pid)
  const next = await ask('a')
  assert.notEqual(next.pid, pid)
  assert.deepEqual(next.earlier, [])
})

/** Resolves when the process has exited. */
async function whenGone(t: TestContext, pid: number): Promise<void> {
  while (!t.signal.aborted) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await setTimeout(20)
  }
}
