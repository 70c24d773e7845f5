import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { Job, JobOutcome, NewJob } from '../../src/runs/jobs.ts'
import type { Database } from '../../src/store/database.ts'
import { createJobs } from '../../src/store/jobs/jobs.ts'
import { startJobClock } from '../fixtures/job-clock.ts'
import { endOf, idsOf, jobOf, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('jobs', registerJobContract)

const done: JobOutcome = { kind: 'done' }
const hourMs = 3_600_000

/** The database, whose job queues call `onRenewal` after each renewal of leases. */
function withRenewals(database: Database, onRenewal: () => void): Database {
  const { jobs } = database
  const table: typeof jobs.table = (options) => {
    const inner = jobs.table(options)
    return { ...inner, renew: (running) => inner.renew(running).finally(onRenewal) }
  }
  return { ...database, jobs: { ...jobs, table } }
}

/** Registers what holds of jobs on every database. */
function registerJobContract(database: () => Database): void {
  /** A queue as one process has it, with a kind and a tenant that no other test has. */
  async function setUp(t: TestContext, { onRenewal, ...options }: { renewMs?: number; onRenewal?(): void } = {}) {
    const clock = await startJobClock(database())
    const { kind, now } = clock
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const tenant = randomUUID()
    const open = () => {
      const jobs = createJobs(onRenewal ? withRenewals(database(), onRenewal) : database(), { now, log, ...options })
      t.after(() => jobs.drain(0))
      return jobs
    }
    return {
      ...clock,
      tenant,
      open,
      jobs: open(),
      lines,
      table: database().jobs.table({ now }),
      job: (change: Partial<NewJob> = {}) => jobOf({ tenant, kind, ...change }),
      left: () => idsOf(database(), tenant),
    }
  }

  /** A worker that tells of each job and is told how it ends. */
  function worker() {
    const begun: { job: Job; signal: AbortSignal; end: (outcome: JobOutcome | Error) => void }[] = []
    const events = new EventTarget()
    const work = (job: Job, signal: AbortSignal) =>
      new Promise<JobOutcome>((resolve, reject) => {
        const end = (outcome: JobOutcome | Error) => (outcome instanceof Error ? reject(outcome) : resolve(outcome))
        signal.addEventListener('abort', () => reject(new Error('aborted')))
        begun.push({ job, signal, end })
        events.dispatchEvent(new Event('begun'))
      })
    const reaches = async (count: number) => {
      while (begun.length < count) await once(events, 'begun')
      return begun[count - 1]!
    }
    return { work, begun, reaches }
  }

  /** Until what was set off has settled in the store. */
  async function until(isSo: () => Promise<boolean>): Promise<void> {
    while (!(await isSo())) await sleep(5)
  }

  test('jobs that wait for a time run at that time, whoever has put them back', async (t) => {
    const { kind, job } = await setUp(t)
    const jobs = () => {
      const queue = createJobs(database(), { now: Date.now, log: pino({ level: 'silent' }) })
      t.after(() => queue.drain(0))
      return queue
    }
    const [first, second] = [jobs(), jobs()]
    const dueAts = new Map<string, number>()
    const delays: number[] = []
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const work = async ({ id }: Job): Promise<JobOutcome> => {
      const dueAt = dueAts.get(id)
      if (dueAt !== undefined) {
        delays.push(Date.now() - dueAt)
        if (delays.length === 3) end()
        return done
      }
      const at = Date.now() + 1000 + dueAts.size * 400
      dueAts.set(id, at)
      return { kind: 'again', at }
    }
    first.handle(kind, 5, work)
    await first.add([job({ dueAt: 0 }), job({ dueAt: 0 }), job({ dueAt: 0 })])
    await until(async () => dueAts.size === 3)
    second.handle(kind, 5, work)
    await ended
    assert.ok(Math.min(...delays) > -100 && Math.max(...delays) < 500, `${delays.join(', ')} ms behind the time`)
  })

  test('an added job runs at once with its data, and is deleted', async (t) => {
    const { jobs, job, kind, left } = await setUp(t)
    const one = worker()
    jobs.handle(kind, 1, one.work)
    const added = job()
    await jobs.add([added])
    const { job: given, end } = await one.reaches(1)
    assert.deepEqual(
      { id: given.id, kind: given.kind, tenant: given.tenant, data: given.data, attempt: given.attempt },
      { id: added.id, kind, tenant: added.tenant, data: added.data, attempt: 1 },
    )
    end(done)
    await until(async () => (await left()).length === 0)
  })

  test('jobs without a worker stay until a worker comes', async (t) => {
    const { jobs, job, kind, left } = await setUp(t)
    await jobs.add([job(), job()])
    assert.equal((await left()).length, 2)
    jobs.handle(kind, 2, async () => done)
    await until(async () => (await left()).length === 0)
  })

  test('an existing job is not added again', async (t) => {
    const { jobs, job, left } = await setUp(t)
    const one = job()
    await jobs.add([one, one])
    await jobs.add([one])
    assert.deepEqual(await left(), [one.id])
  })

  test('the end of a run adds its jobs, except when another process has ended the run', async (t) => {
    const { jobs, kind, job } = await setUp(t)
    const { store, start, tenant } = storeOf(database())
    const { run, turn } = await start()
    await assert.rejects(store.finish(run, 7, endOf(turn, { jobs: [job({ tenant })] })))
    assert.deepEqual(await idsOf(database(), tenant), [])
    const promised = job({ tenant })
    await store.finish(run, 1, endOf(turn, { jobs: [promised] }))
    assert.deepEqual(await idsOf(database(), tenant), [promised.id])
    const one = worker()
    jobs.handle(kind, 1, one.work)
    ;(await one.reaches(1)).end(done)
    await until(async () => (await idsOf(database(), tenant)).length === 0)
  })

  test('the concurrency limit of a kind holds, and further jobs run in the order of their due times', async (t) => {
    const { jobs, job, kind, left } = await setUp(t)
    const one = worker()
    const added = [3, 1, 2, 4].map((dueAt) => job({ dueAt }))
    await jobs.add(added)
    jobs.handle(kind, 2, one.work)
    await one.reaches(2)
    await sleep(20)
    assert.deepEqual(new Set(one.begun.map(({ job }) => job.id)), new Set([added[1]!.id, added[2]!.id]))
    one.begun[0]!.end(done)
    assert.equal((await one.reaches(3)).job.id, added[0]!.id)
    one.begun[1]!.end(done)
    await one.reaches(4)
    for (const { end } of one.begun) end(done)
    await until(async () => (await left()).length === 0)
  })

  test('concurrent claims of two processes never get the same job', async (t) => {
    const { jobs, job, kind, left, open } = await setUp(t)
    const ids: string[] = []
    for (const queue of [jobs, open(), open()]) {
      queue.handle(kind, 3, async (job) => {
        ids.push(job.id)
        await sleep(1)
        return done
      })
    }
    const added = Array.from({ length: 60 }, () => job())
    await jobs.add(added)
    await until(async () => (await left()).length === 0)
    assert.deepEqual(ids.sort(), added.map(({ id }) => id).sort())
  })

  test('a job to be repeated runs again at its new due time', async (t) => {
    const { jobs, job, kind, pass, delays } = await setUp(t)
    const one = worker()
    jobs.handle(kind, 1, one.work)
    await jobs.add([job()])
    ;(await one.reaches(1)).end({ kind: 'again', at: 1_000_000 + 3_600_000 })
    await until(async () => (await delays())[0] === 3_600_000)
    jobs.wake(kind)
    await sleep(30)
    assert.equal(one.begun.length, 1)
    await pass(3_600_000)
    jobs.wake(kind)
    assert.equal((await one.reaches(2)).job.attempt, 2)
  })

  test('a failing job is retried with growing delays, and given up after a day with a log line', async (t) => {
    const { jobs, job, kind, left, pass, lines, delays } = await setUp(t)
    const one = worker()
    jobs.handle(kind, 1, one.work)
    const added = job({ dueAt: 1_000_000 })
    await jobs.add([added])
    for (const [attempt, delay] of [1000, 2000, 4000].entries()) {
      const { end } = await one.reaches(attempt + 1)
      assert.equal(one.begun.length, attempt + 1)
      end(new Error('the database of a friend is down'))
      await until(async () => (await delays())[0] === delay)
      assert.equal(lines.length, attempt + 1)
      await pass(delay)
      jobs.wake(kind)
    }
    await pass(24 * hourMs)
    ;(await one.reaches(4)).end(new Error('still down'))
    await until(async () => (await left()).length === 0)
    assert.match(lines.at(-1)!, /job given up/)
    assert.match(lines.at(-1)!, new RegExp(added.id))
  })

  test('a job of a dead process is done by another after the lease, and the dead process can change nothing', async (t) => {
    const { jobs, job, kind, left, pass, table, keepUp } = await setUp(t)
    await jobs.add([job()])
    const claim = async () => (await table.claim(kind, 1)).claimed
    const [dead] = await claim()
    assert.deepEqual(await claim(), [])
    await pass(database().jobs.leaseMs + 1)
    await keepUp()
    const [next] = await claim()
    assert.deepEqual({ id: next!.job.id, attempt: next!.job.attempt }, { id: dead!.job.id, attempt: 2 })
    assert.deepEqual(await table.renew([dead!.job, next!.job]), [dead!.job])
    await table.remove(dead!.job)
    await table.requeue(dead!.job, 0, 0)
    assert.deepEqual({ leftCount: (await left()).length, claimCount: (await claim()).length }, { leftCount: 1, claimCount: 0 })
    await table.remove(next!.job)
    assert.deepEqual(await left(), [])
  })

  test('a job that takes longer than its lease stays with its worker', async (t) => {
    const renewals = new EventTarget()
    const onRenewal = () => void renewals.dispatchEvent(new Event('end'))
    const { jobs, job, kind, pass, open, keepUp } = await setUp(t, { renewMs: 20, onRenewal })
    const [one, other] = [worker(), worker()]
    jobs.handle(kind, 1, one.work)
    await jobs.add([job()])
    await one.reaches(1)
    const second = open()
    second.handle(kind, 1, other.work)
    for (let n = 0; n < 4; n += 1) {
      await pass(database().jobs.leaseMs / 2)
      // The first renewal that ends may have begun before the time passed.
      for (let round = 0; round < 2; round += 1) await once(renewals, 'end')
      await keepUp()
      second.wake(kind)
    }
    await sleep(20)
    assert.deepEqual([one.begun.length, other.begun.length, one.begun[0]!.signal.aborted], [1, 0, false])
  })

  test('a closing queue waits for running jobs, requeues longer ones, and claims no new ones', async (t) => {
    const { jobs, job, kind, left, open } = await setUp(t)
    const one = worker()
    jobs.handle(kind, 2, one.work)
    const added = [job({ dueAt: 1 }), job({ dueAt: 2 }), job({ dueAt: 3 })]
    await jobs.add(added)
    await one.reaches(2)
    const draining = jobs.drain(40)
    one.begun[0]!.end(done)
    await draining
    assert.equal(one.begun[1]!.signal.aborted, true)
    assert.deepEqual(await left(), [added[1]!.id, added[2]!.id].sort())
    const ids: string[] = []
    open().handle(kind, 2, async (job) => (ids.push(job.id), done))
    await until(async () => (await left()).length === 0)
    assert.deepEqual(ids.sort(), [added[1]!.id, added[2]!.id].sort())
  })

  test('jobs with the lowest rank run first, whenever added', async (t) => {
    const { jobs, job, kind, left } = await setUp(t)
    const one = worker()
    const [last, first, second] = [job({ rank: 9, dueAt: 1 }), job({ rank: -3, dueAt: 3 }), job({ dueAt: 2 })]
    for (const added of [last, first, second]) await jobs.add([added])
    jobs.handle(kind, 1, one.work)
    for (const [at, { id }] of [first, second, last].entries()) {
      const { job: given, end } = await one.reaches(at + 1)
      assert.equal(given.id, id)
      end(done)
    }
    await until(async () => (await left()).length === 0)
  })

  test('the current concurrency limit holds, and a stopped worker claims nothing', async (t) => {
    const { jobs, job, kind, left } = await setUp(t)
    const one = worker()
    let most = 1
    const stop = jobs.handle(kind, () => most, one.work)
    await jobs.add([job(), job(), job(), job()])
    await one.reaches(1)
    await sleep(20)
    assert.equal(one.begun.length, 1)
    most = 3
    jobs.wake(kind)
    await one.reaches(3)
    stop()
    for (const { end } of one.begun) end(done)
    await until(async () => (await left()).length === 1)
    jobs.wake(kind)
    await sleep(20)
    assert.equal(one.begun.length, 3)
  })

  test('a job id is taken until the job is done, and not longer', async (t) => {
    const { jobs, job, kind, left } = await setUp(t)
    const one = worker()
    jobs.handle(kind, 1, one.work)
    const named = job({ id: `summary:${kind}:1` })
    await jobs.add([named])
    const { end } = await one.reaches(1)
    await jobs.add([named])
    end(done)
    await until(async () => (await left()).length === 0)
    await jobs.add([named])
    ;(await one.reaches(2)).end(done)
    await until(async () => (await left()).length === 0)
    assert.equal(one.begun.length, 2)
  })
}
