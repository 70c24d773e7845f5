import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PendingCall } from '../../src/agent/approval.ts'
import type { ApprovalCaller, CallKey, NewDecision } from '../../src/runs/approvals/approval-store.ts'
import { FenceLost, type Interruption, type NewRun, type TakeOver, type Turn } from '../../src/runs/run-store.ts'
import { createApprovalStore } from '../../src/store/runs/approvals.ts'
import type { Database } from '../../src/store/database.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { endOf, hour, human, idsOf, jobOf, runJobsOf, running, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('runs that wait for approval', registerApprovalContract)

const callOf = (callId: string, by: PendingCall['by'] = 'caller'): PendingCall => ({ callId, tool: 'send', input: { to: callId }, by })

function standsAt(turn: Turn, calls: PendingCall[], change: Partial<Interruption> = {}): Interruption {
  return {
    session: turn.session,
    sessionId: 's',
    step: 1,
    data: {
      messages: [{ role: 'assistant', text: 'so far', toolCalls: [] }],
      iterations: 1,
      events: [],
      usage: { models: [], thoughts: [] },
    },
    log: { input: 'hello', events: [{ type: 'interrupt', calls, usage: [], thoughts: [] }] },
    calls,
    ranMs: 40,
    now: hour + 10,
    expiresAt: hour + 1000,
    jobs: [],
    ...change,
  }
}

const by: TakeOver = { holder: 'process-2', queueOrder: 9, now: hour + 20, messages: [human('hello')] }
const approve = (change: Partial<Extract<NewDecision, { decision: 'approve' | 'reject' }>> = {}): NewDecision => ({
  decision: 'approve',
  input: undefined,
  reason: undefined,
  decidedBy: 'agent-core ann',
  ...change,
})
const reject = approve({ decision: 'reject', reason: 'No.' })

/** Registers what holds of runs that wait for approval on every database. */
function registerApprovalContract(database: () => Database): void {
  function setUp() {
    const own = storeOf(database())
    const approvals = createApprovalStore(database())
    const mine: ApprovalCaller = { tenant: own.tenant, owner: 'agent-core ann', mayApprove: false, mayRaise: false }
    const rows = () => database().db.selectFrom('approvals').selectAll().where('tenant', '=', own.tenant).orderBy('call_id').execute()
    /** A run that waits for these calls. */
    const interrupted = async (calls: PendingCall[], change: Partial<NewRun> = {}, stands: Partial<Interruption> = {}) => {
      const { run, turn } = await own.start(change)
      await own.store.interrupt(run, 1, standsAt(turn, calls, stands))
      return { run, turn, key: (callId: string): CallKey => ({ ...run, callId }) }
    }
    return { ...own, approvals, mine, rows, interrupted }
  }

  test('an interrupted run is stored with its checkpoint, calls and jobs, and holds its session', async () => {
    const { store, tenant, interrupted, session, approvals, metrics } = setUp()
    const job = jobOf({ kind: 'approval_expiry', tenant, data: { owner: 'agent-core ann', requestId: 'r', fence: 1 }, dueAt: hour + 1000 })
    const { run, turn } = await interrupted([callOf('z'), callOf('b', 'role')], {}, { jobs: [job] })
    const stored = (await store.find(run))!
    assert.deepEqual(
      { status: stored.status, onDisconnect: stored.onDisconnect, ranMs: stored.ranMs, endedAt: stored.endedAt },
      { status: 'interrupted', onDisconnect: 'continue', ranMs: 40, endedAt: undefined },
    )
    assert.equal(stored.log?.events[0]?.type, 'interrupt')
    assert.deepEqual(stored.request, run.request)
    assert.deepEqual((await store.checkpoints(run)).length, 1)
    assert.equal((await session())?.active_run, run.requestId)
    assert.deepEqual(await approvals.openOf(run), [callOf('z'), callOf('b', 'role')])
    assert.deepEqual(await idsOf(database(), tenant), [job.id])
    assert.deepEqual(await metrics(), [])
    assert.equal((await store.ownUnended('process-1')).filter((key) => key.tenant === tenant).length, 0)
    assert.equal((await store.orphans('process-2', 0)).runs.filter((key) => key.tenant === tenant).length, 0)
    await assert.rejects(store.interrupt(run, 1, standsAt(turn, [callOf('c')], { step: 2 })), FenceLost)
    await assert.rejects(store.checkpoint(run, 1, 2, standsAt(turn, []).data), FenceLost)
    await assert.rejects(store.finish(run, 1, endOf(turn)), FenceLost)
  })

  test('calls of client tools are found by their ids and counted by their runs, and are on no list of approvals', async () => {
    const { store, approvals, mine, interrupted } = setUp()
    const { run, key } = await interrupted([callOf('a', 'client'), callOf('b', 'client'), callOf('c')])
    assert.deepEqual((await approvals.clientCalls(mine, ['a', 'b', 'c', 'x'])).map(({ callId }) => callId).sort(), ['a', 'b'])
    assert.deepEqual(await approvals.clientCalls({ ...mine, owner: 'agent-core bob' }, ['a']), [])
    const waits = await approvals.clientWaits(mine, hour + 20, 9)
    assert.deepEqual({ ...waits[0] }, { requestId: run.requestId, since: hour + 10, expiresAt: hour + 1000 })
    assert.deepEqual(await approvals.clientWaits(mine, hour + 20, 0), [])
    assert.deepEqual(await approvals.clientWaits(mine, hour + 2000, 9), [], 'an expired call does not count')
    const listed = await approvals.list(mine, { limit: 9, before: undefined, now: hour + 20 })
    assert.deepEqual(
      listed?.map(({ callId }) => callId),
      ['c'],
    )
    const output = { text: 'a\0b', list: [null] }
    await approvals.decide(key('a'), { decision: 'output', output, decidedBy: mine.owner }, by)
    await approvals.decide(key('b'), { decision: 'error', error: 'No.', decidedBy: mine.owner }, by)
    assert.deepEqual(await approvals.clientWaits(mine, hour + 20, 9), [])
    const times = { requestedAt: hour + 10, decidedAt: hour + 20 }
    assert.deepEqual(Object.fromEntries(await store.decisions(run)), {
      a: { decision: 'output', output, ...times },
      b: { decision: 'error', error: 'No.', ...times },
    })
    const [first, second] = (await approvals.clientCalls(mine, ['a', 'b'])).sort((one, other) => (one.callId < other.callId ? -1 : 1))
    assert.deepEqual([first?.output, second?.error], [output, 'No.'])
  })

  test('a process that lost its run cannot interrupt the run', async () => {
    const { store, start, rows, tenant } = setUp()
    const { run, turn } = await start()
    await assert.rejects(store.interrupt(run, 2, standsAt(turn, [callOf('a')], { jobs: [jobOf({ tenant })] })), FenceLost)
    assert.deepEqual(
      { status: (await store.find(run))?.status, rows: await rows(), idsOf: await idsOf(database(), tenant) },
      { status: 'running', rows: [], idsOf: [] },
    )
  })

  test('the last decision resumes the run in the same transaction, and the run reads the decisions', async () => {
    const { store, interrupted, approvals, mine } = setUp()
    const { run, turn, key } = await interrupted([callOf('a'), callOf('b')])
    assert.deepEqual(await approvals.decide(key('a'), reject, by), {})
    assert.equal((await store.find(run))?.status, 'interrupted')
    assert.equal(await approvals.decide(key('a'), approve(), by), undefined)
    const decided = await approvals.decide(key('b'), approve({ input: { to: 'c' } }), by)
    assert.deepEqual(decided, { takenOver: { kind: 'running', fence: 2, turn } })
    const stored = (await store.find(run))!
    assert.deepEqual(
      { status: stored.status, fence: stored.fence, holder: stored.holder, startedAt: stored.startedAt },
      { status: 'running', fence: 2, holder: 'process-2', startedAt: hour },
    )
    const decisions = new Map([
      ['a', { decision: 'reject', reason: 'No.' }],
      ['b', { decision: 'approve', input: { to: 'c' }, isStarted: false }],
    ])
    assert.deepEqual(await store.decisions(run), decisions)
    const found = await approvals.find(mine, run.requestId, 'b')
    assert.deepEqual(
      { decision: found?.decision, input: found?.input, newInput: found?.newInput },
      { decision: 'approve', input: { to: 'b' }, newInput: { to: 'c' } },
    )
    assert.equal(await approvals.decide(key('b'), reject, by), undefined)
    await assert.rejects(store.startApproved(run, 1, 'b', hour + 30), FenceLost)
    await store.startApproved(run, 2, 'b', hour + 30)
    assert.deepEqual((await store.decisions(run)).get('b'), { decision: 'approve', input: { to: 'c' }, isStarted: true })
    await store.finish(run, 2, endOf(turn, { hadCheckpoints: true }))
    assert.equal((await approvals.find(mine, run.requestId, 'a'))?.decision, 'reject')
  })

  test('of the last two concurrent decisions one takes the run, and no decided run stays interrupted', async () => {
    const { store, interrupted, approvals } = setUp()
    for (let round = 0; round < 5; round++) {
      const { run, key } = await interrupted([callOf(`a${round}`), callOf(`b${round}`)], { sessionId: `s${round}` })
      const both = await Promise.all([`a${round}`, `b${round}`].map((id) => approvals.decide(key(id), approve(), by)))
      assert.equal(both.filter((one) => one?.takenOver).length, 1)
      assert.equal((await store.find(run))?.status, 'running')
    }
  })

  test('of two concurrent decisions on a call one counts', async () => {
    const { interrupted, approvals } = setUp()
    const { key } = await interrupted([callOf('a')])
    const both = await Promise.all([approve(), reject].map((one) => approvals.decide(key('a'), one, by)))
    assert.equal(both.filter((one) => one === undefined).length, 1)
  })

  test('a decided async run is unclaimed, with its session and a job that resumes after the interruption', async () => {
    const { store, newRun, approvals } = setUp()
    const run = newRun({ operation: 'chain_async', event: { key: 'k', id: 'e', callbackUrl: undefined } })
    await store.begin(run)
    const turn = (await store.takeTurn(run, run.messages, hour))!
    await store.interrupt(run, 1, standsAt(turn, [callOf('a')]))
    assert.deepEqual(await approvals.decide({ ...run, callId: 'a' }, approve(), by), { isReleased: true })
    const { status, holder, fence } = (await store.find(run))!
    assert.deepEqual({ status, holder, fence }, { status: 'pending', holder: '', fence: 2 })
    const jobs = await runJobsOf(database(), run.tenant)
    assert.deepEqual(
      jobs.find((job) => job.fence === 2),
      { owner: run.owner, requestId: run.requestId, fence: 2, isResumed: true },
    )
    const up = await store.claim({ ...run, fence: 2 }, () => by)
    assert.deepEqual(up?.takenOver, { kind: 'running', fence: 3, turn })
  })

  test('an interrupted run that is to end is taken at once, async or not, and open calls lapse', async () => {
    const { store, newRun, approvals, mine, rows } = setUp()
    const run = newRun({ operation: 'chain_async', event: { key: 'k', id: 'e', callbackUrl: undefined } })
    await store.begin(run)
    const turn = (await store.takeTurn(run, run.messages, hour))!
    await store.interrupt(run, 1, standsAt(turn, [callOf('a'), callOf('b')]))
    await approvals.decide({ ...run, callId: 'a' }, reject, by)
    const taken = await store.takeOver(run, { fence: 1, status: 'interrupted' }, by)
    assert.deepEqual(taken, { kind: 'running', fence: 2, turn })
    assert.deepEqual(
      (await rows()).map(({ call_id, decision }) => [call_id, decision]),
      [
        ['a', 'reject'],
        ['b', 'lapsed'],
      ],
    )
    assert.equal(await approvals.decide({ ...run, callId: 'b' }, approve(), by), undefined)
    assert.deepEqual([...(await store.decisions(run)).keys()], ['a'])
    assert.deepEqual(await approvals.list(mine, { limit: 9, before: undefined, now: hour }), [])
    assert.equal(await store.takeOver(run, { fence: 1, status: 'interrupted' }, by), undefined)
  })

  test('expired calls are neither listed nor decided', async () => {
    const { interrupted, approvals, mine } = setUp()
    const { key } = await interrupted([callOf('a')])
    const page = { limit: 9, before: undefined }
    assert.equal((await approvals.list(mine, { ...page, now: hour + 999 }))?.length, 1)
    assert.deepEqual(await approvals.list(mine, { ...page, now: hour + 1000 }), [])
    assert.equal(await approvals.decide(key('a'), approve(), { ...by, now: hour + 1000 }), undefined)
  })

  test('a new run of a session with an interrupted run is refused without a trace; a waiting run gets the error; a known run is returned', async () => {
    const { store, newRun, start, count } = setUp()
    const { run, turn } = await start()
    const waits = newRun()
    await store.begin(waits)
    await store.interrupt(run, 1, standsAt(turn, [callOf('a')]))
    const refused = { code: 'session_interrupted', message: new RegExp(`^Request ${run.requestId} of session ${run.sessionId} waits`) }
    await assert.rejects(store.begin(newRun({ images: [{ mediaType: 'image/png', data: 'aa' }] })), refused)
    await assert.rejects(store.begin(newRun({ operation: 'chain_async', event: { key: 'k', id: 'e', callbackUrl: 'https://x' } })), refused)
    assert.equal(await store.findEvent(run, 'k'), undefined)
    assert.equal(await count('runs'), 2)
    await assert.rejects(store.takeTurn(waits, waits.messages, hour), refused)
    assert.equal((await store.begin(run)).kind, 'known')
    assert.equal((await store.begin(newRun({ owner: 'agent-core bob' }))).kind, 'running')
    assert.equal((await store.begin(newRun({ sessionId: 'other' }))).kind, 'running')
  })

  test('a resumed run can be interrupted again, and keeps its execution time and start time', async () => {
    const { store, interrupted, approvals } = setUp()
    const { run, turn, key } = await interrupted([callOf('a')])
    await approvals.decide(key('a'), approve(), by)
    await store.interrupt(run, 2, standsAt(turn, [callOf('b')], { step: 2, ranMs: 70 }))
    const stored = (await store.find(run))!
    assert.deepEqual(
      { ranMs: stored.ranMs, startedAt: stored.startedAt, openOf: await approvals.openOf(run) },
      { ranMs: 70, startedAt: hour, openOf: [callOf('b')] },
    )
    await approvals.decide(key('b'), approve(), by)
    await store.finish(run, 3, endOf(turn, { status: 'error', continuable: true, message: undefined }))
    const again = await store.takeOver(run, { fence: 3, status: 'error' }, by)
    assert.equal(again?.kind, 'running')
    assert.deepEqual(
      { ranMs: (await store.find(run))?.ranMs, startedAt: (await store.find(run))?.startedAt },
      { ranMs: 0, startedAt: by.now },
    )
    assert.deepEqual([...(await store.decisions(run)).keys()].toSorted(), ['a', 'b'])
  })

  test('callers find and list own calls, and role-decided calls of others in the same tenant', async () => {
    const { interrupted, approvals, mine } = setUp()
    const first = await interrupted([callOf('a'), callOf('b', 'role')])
    const theirs = { owner: 'agent-core bob', sessionId: 't' }
    const second = await interrupted([callOf('c'), callOf('d', 'role')], theirs, { now: hour + 11 })
    const names = async (asker: typeof mine, change: object = {}) =>
      (await approvals.list(asker, { limit: 9, before: undefined, now: hour, ...change }))?.map(({ callId }) => callId)
    const approver = { ...mine, mayApprove: true }
    assert.deepEqual(await names(mine), ['a', 'b'])
    assert.deepEqual(await names(approver), ['d', 'a', 'b'])
    assert.deepEqual(await names({ ...approver, owner: 'agent-core eve' }), ['d', 'b'])
    assert.deepEqual(await names({ ...approver, tenant: 'other' }), [])
    assert.deepEqual(await names(approver, { limit: 1 }), ['d'])
    assert.deepEqual(await names(approver, { before: 'd' }), ['a', 'b'])
    for (const before of ['z', 'c']) assert.equal(await names(approver, { before }), undefined)
    assert.equal(await names(mine, { before: 'd' }), undefined)
    const found = async (asker: typeof mine, { run }: typeof first, callId: string) =>
      (await approvals.find(asker, run.requestId, callId))?.owner
    assert.equal(await found(mine, second, 'd'), undefined)
    assert.equal(await found(approver, second, 'c'), undefined)
    assert.equal(await found(approver, second, 'd'), theirs.owner)
    assert.equal(await found(mine, first, 'b'), mine.owner)
    assert.equal(await found({ ...approver, tenant: 'other' }, second, 'd'), undefined)
  })

  test('calls requested together are listed in the order requested, in pages', async () => {
    const { interrupted, approvals, mine } = setUp()
    await interrupted([callOf('y'), callOf('z'), callOf('x')])
    await interrupted([callOf('n'), callOf('m')], { sessionId: 't' }, { now: hour + 11 })
    const seen: string[] = []
    for (let before: string | undefined; ;) {
      const [call] = (await approvals.list(mine, { limit: 1, before, now: hour }))!
      if (!call) break
      seen.push(call.callId)
      before = call.callId
    }
    assert.deepEqual(seen, ['n', 'm', 'y', 'z', 'x'])
  })

  test("an excerpt has the last messages of a run's session, truncated, from one tenant", async () => {
    const { store, tenant, newRun } = storeOf(database())
    const approvals = createApprovalStore(database())
    const begun = async (owner: string, ...texts: string[]) => {
      const run = newRun({ tenant, owner, sessionId: owner, messages: texts.map((text) => human(text)) })
      await running(store, run)
      return run
    }
    const long = await begun('agent-core ann', '0', '1', '2', 'xxxxx', '🙂🙂🙂')
    const short = await begun('agent-core bob', 'hi')
    const most = { messages: 3, characters: 2 }
    const excerpts = await approvals.excerpts(tenant, [long, short], most)
    const told = excerpts.map(({ owner, questionIndex, messages }) => [owner, questionIndex, ...messages.map(({ content }) => content)])
    assert.deepEqual(
      told.toSorted(([a], [b]) => String(a).localeCompare(String(b))),
      [
        ['agent-core ann', 4, '2', 'xxx', '🙂🙂🙂'],
        ['agent-core bob', 0, 'hi'],
      ],
    )
    assert.deepEqual(await approvals.excerpts(`not ${tenant}`, [long, short], most), [])
    assert.deepEqual(await approvals.excerpts(tenant, [{ ...short, owner: long.owner }], most), [])
  })

  test('deleting a session deletes its calls', async () => {
    const { store, interrupted, rows, mine, approvals } = setUp()
    const { run, key } = await interrupted([callOf('a')])
    assert.equal(await createSessionStore(database()).remove(mine, 's', { jobId: `gone ${run.requestId}`, now: hour }), true)
    assert.deepEqual(await rows(), [])
    await assert.rejects(store.find(run), { code: 'gone' })
    assert.equal(await approvals.decide(key('a'), approve(), by), undefined)
    assert.equal((await running(store, { ...run, requestId: 'next', queueOrder: run.queueOrder + 1 })).messageIndex, 0)
  })
}
