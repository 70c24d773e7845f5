import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { openDatabase } from '../../src/store/open.ts'
import { openRunInsert } from '../../src/store/runs/runs.ts'
import { createScheduleStore } from '../../src/store/schedules/schedules.ts'
import { until } from '../fixtures/async-client.ts'
import { startIdentityProvider } from '../fixtures/identity-provider.ts'
import { startClock } from '../fixtures/schedule-clock.ts'
import { createClient, type Client, type Reply } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'

const path = '/core/v1/schedules'
const question = { messages: [{ role: 'user', content: 'How much was sold?' }] }
const daily = { cron: '0 9 * * *', timezone: 'UTC', request: question }
const beginning = '2026-12-01T08:00:00Z'
const unknownId = '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11'

async function start(t: TestContext, options: ServiceOptions = {}) {
  const clock = startClock(beginning)
  const service = await startService(t, { script: { text: ['Four.'] }, scheduleClock: clock.clock, ...options })
  // The clock of the schedules is ahead of that of the keys.
  const { as: withKey } = service
  const as: typeof withKey = (who) => withKey({ expiresInSeconds: 40_000_000, ...who })
  const client = await as()
  const create = async (body: object, by = client) => {
    const reply = await by.request('POST', path, { body: { ...daily, ...body } })
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  /** Sets the time, and makes the engine look: a trigger or a change wakes it, a time does not. */
  const goTo = async (time: string) => {
    clock.set(time)
    await wake(client)
  }
  return Object.assign(service, { client, as, clock, create, goTo })
}

/** A change of any schedule makes the engine look at all. */
async function wake(client: Client): Promise<void> {
  const { body } = await client.request('POST', path, { body: { at: '2999-01-01T00:00:00Z', request: question } })
  await client.request('DELETE', `${path}/${body.id}`)
}

const firesOf = async (client: Client, id: string) => (await client.request('GET', `${path}/${id}/fires`)).body.fires
const read = async (client: Client, id: string) => (await client.request('GET', `${path}/${id}`)).body
const trigger = (client: Client, id: string) => client.request('POST', `${path}/${id}/trigger`)
const faultOf = ({ body }: Reply) => body.detail?.[0]?.loc
const outcomes = (fires: { outcome: string }[]) => fires.map(({ outcome }) => outcome)
const untilFires = (client: Client, id: string, count: number) =>
  until(
    () => firesOf(client, id),
    (fires) => fires.length >= count,
    20_000,
  )
const untilEnded = (client: Client, requestId: string) =>
  until(
    () => client.run(requestId),
    ({ body }) => !['pending', 'running'].includes(body.status),
    20_000,
  )

test('a schedule fires at its time as an asynchronous run of its owner', async (t) => {
  const { client, as, create, goTo, model } = await start(t)
  const { id, next_at: nextAt, status } = await create({ name: 'Sales' })
  assert.deepEqual([nextAt, status], ['2026-12-01T09:00:00Z', 'active'])
  await goTo('2026-12-01T09:00:02Z')
  const [fire] = await untilFires(client, id, 1)
  const requestId = `schedule:${id}:${Date.parse('2026-12-01T09:00:00Z')}`
  const { status: _, ...rest } = fire
  assert.deepEqual(rest, {
    ...{ scheduled_for: '2026-12-01T09:00:00Z', fired_at: '2026-12-01T09:00:02Z', outcome: 'started', request_id: requestId },
  })
  assert.equal((await untilEnded(client, requestId)).body.status, 'success')
  const { runs } = (await client.request('GET', '/core/v1/runs?operation=schedule')).body
  assert.deepEqual(
    runs.map((run: Record<string, unknown>) => [run['request_id'], run['schedule_id'], run['operation'], run['status']]),
    [[requestId, id, 'schedule', 'success']],
  )
  const { next_at: following, last } = await read(client, id)
  assert.deepEqual(
    [following, last],
    ['2026-12-02T09:00:00Z', { scheduled_for: '2026-12-01T09:00:00Z', request_id: requestId, status: 'success' }],
  )
  assert.equal(model.requests.length, 1)
  const { text } = await (await as({ roles: ['admin'] })).request('GET', '/metrics')
  assert.match(text, /agent_core_schedule_fires_total\{outcome="started"\} 1/)
  assert.match(text, /agent_core_run_duration_seconds_count\{operation="schedule",status="success"\} 1/)
})

test('what is not a schedule is refused with the path of the fault, and stores nothing', async (t) => {
  const { client } = await start(t, { environment: {} })
  const refused: [object, (string | number)[]][] = [
    [{ cron: '0 9 * * 1-5', request: question }, ['body', 'timezone']],
    [{ request: question }, ['body', 'cron']],
    [{ at: '2026-11-30T00:00:00Z', request: question }, ['body', 'at']],
    [{ ...daily, cron: '0 0 9 * * *' }, ['body', 'cron']],
    [{ ...daily, color: 'red' }, ['body', 'color']],
    [{ ...daily, request: { ...question, client_tools: [{ name: 'x' }] } }, ['body', 'request', 'client_tools']],
    [{ ...daily, request: { ...question, stream: true } }, ['body', 'request', 'stream']],
    [{ ...daily, request: { ...question, session_id: 's' } }, ['body', 'request', 'session_id']],
    [{ ...daily, request: { ...question, callback_url: 'http://127.0.0.1/' } }, ['body', 'request', 'callback_url']],
    [{ ...daily, request: { messages: [{ role: 'assistant', content: 'x' }] } }, ['body', 'request', 'messages', 0, 'role']],
  ]
  for (const [body, loc] of refused) {
    const reply = await client.request('POST', path, { body })
    assert.deepEqual([reply.status, faultOf(reply)], [422, loc], JSON.stringify(body))
  }
  const image = { ...question, images: [{ type: 'base64', content: 'bm8gaW1hZ2U=' }] }
  assert.equal((await client.request('POST', path, { body: { ...daily, request: image } })).status, 400)
  assert.equal(
    (await client.request('POST', path, { body: { ...daily, request: { ...question, context_files: ['none.md'] } } })).status,
    400,
  )
  assert.deepEqual((await client.request('GET', path)).body.schedules, [])
})

test('a repeat with the same request id creates no other schedule', async (t) => {
  const { client } = await start(t)
  const headers = { 'request-id': 'create-1' }
  const [first, second] = [
    await client.request('POST', path, { body: daily, headers }),
    await client.request('POST', path, { body: daily, headers }),
  ]
  assert.deepEqual([first.status, second.status, second.body.id], [201, 201, first.body.id])
  const other = await client.request('POST', path, { body: { ...daily, name: 'Other' }, headers })
  assert.deepEqual([other.status, other.body.details.error_type], [409, 'RequestIdReused'])
  assert.equal((await client.request('GET', path)).body.schedules.length, 1)
})

test('times are previewed with what the clocks of the zone do', async (t) => {
  const { client } = await start(t)
  const body = { cron: '30 2 * * *', timezone: 'Europe/Berlin', from: '2027-03-27T12:00:00Z', count: 2 }
  const { occurrences } = (await client.request('POST', `${path}/preview`, { body })).body
  assert.deepEqual(occurrences, [
    { at: '2027-03-28T01:00:00Z', local: '2027-03-28T03:00:00+02:00', note: 'moved_by_dst' },
    { at: '2027-03-29T00:30:00Z', local: '2027-03-29T02:30:00+02:00' },
  ])
  const faulty = await client.request('POST', `${path}/preview`, { body: { ...body, from: 'yesterday' } })
  assert.deepEqual([faulty.status, faultOf(faulty)], [422, ['body', 'from']])
})

test('a trigger starts a run beside the times, and overlap skips it while a run has not ended', async (t) => {
  const answer = Promise.withResolvers<void>()
  const { client, create } = await start(t, { script: () => ({ text: ['Four.'], begins: answer.promise }) })
  const { id } = await create({})
  const first = await trigger(client, id)
  assert.deepEqual([first.status, first.body.outcome], [200, 'started'])
  assert.deepEqual((await trigger(client, id)).body, { outcome: 'skipped', reason: 'overlap' })
  answer.resolve()
  await untilEnded(client, first.body.request_id)
  const { body } = await trigger(client, id)
  assert.equal(body.outcome, 'started')
  assert.deepEqual(outcomes(await firesOf(client, id)), ['started', 'skipped', 'started'])
  assert.equal((await read(client, id)).next_at, '2026-12-01T09:00:00Z')
})

test('one occurrence waits for the run before, and a second one is left out', async (t) => {
  const answer = Promise.withResolvers<void>()
  const { client, create } = await start(t, { script: () => ({ text: ['Four.'], begins: answer.promise }) })
  const { id } = await create({ overlap: 'queue' })
  await trigger(client, id)
  assert.deepEqual((await trigger(client, id)).body, { outcome: 'queued' })
  assert.deepEqual((await trigger(client, id)).body, { outcome: 'skipped', reason: 'overlap' })
  answer.resolve()
  await until(
    () => firesOf(client, id),
    (fires) => outcomes(fires).filter((outcome) => outcome === 'started').length === 2,
  )
})

test('schedules that wait for a run, as many as fire at once, delay no other tenant', async (t) => {
  const { client, as, create, clock } = await start(t, { script: () => ({ text: ['Four.'], begins: new Promise(() => undefined) }) })
  for (let n = 0; n < 17; n++) {
    const { id } = await create({ overlap: 'queue' })
    await trigger(client, id)
    assert.equal((await trigger(client, id)).body.outcome, 'queued')
  }
  const bea = await as({ tenant: 'beta', sub: 'bea' })
  const { id } = await create({}, bea)
  clock.set('2026-12-01T09:00:00Z')
  await wake(bea)
  assert.deepEqual(outcomes(await untilFires(bea, id, 1)), ['started'])
})

test('the run before is cancelled, or both run, as the policy says', async (t) => {
  const { client, create } = await start(t, { script: () => ({ text: ['Four.'], begins: new Promise(() => undefined) }) })
  const { id } = await create({ overlap: 'cancel_running' })
  const [first, second] = [(await trigger(client, id)).body, (await trigger(client, id)).body]
  assert.equal(second.outcome, 'started')
  assert.equal((await untilEnded(client, first.request_id)).body.status, 'cancelled')
  const both = await create({ overlap: 'allow' })
  assert.deepEqual([(await trigger(client, both.id)).body.outcome, (await trigger(client, both.id)).body.outcome], ['started', 'started'])
})

test('after 12 hours without a process the latest time fires, and the others are missed', async (t) => {
  const { client, create, goTo } = await start(t)
  const { id } = await create({ cron: '0 * * * *' })
  await goTo('2026-12-01T20:00:30Z')
  const fires = await untilFires(client, id, 12)
  assert.deepEqual(outcomes(fires), ['started', ...Array<string>(11).fill('missed')])
  assert.equal(fires[0].scheduled_for, '2026-12-01T20:00:00Z')
  assert.equal((await read(client, id)).next_at, '2026-12-01T21:00:00Z')
})

test('a revoked key fires nothing more, and resuming with another key goes on', async (t) => {
  const { client, as, create, goTo, model, url } = await start(t)
  const { id } = await create({})
  const admin = await as({ sub: 'boss', roles: ['admin'] })
  const { body: issued } = await admin.request('POST', '/core/v1/keys', { body: { sub: 'ann', roles: ['user'], expires: '90d' } })
  const other = await create({ name: 'Other' }, createClient(url, issued.key))
  assert.equal((await admin.request('DELETE', `/core/v1/keys/${issued.jti}`)).status, 200)
  await goTo('2026-12-01T09:00:00Z')
  const [refused] = await untilFires(client, other.id, 1)
  assert.deepEqual([refused.outcome, refused.reason], ['refused', 'key_revoked'])
  const paused = await read(client, other.id)
  assert.deepEqual([paused.status, paused.pause_reason, paused.next_at], ['paused', 'key_revoked', null])
  const [fired] = await untilFires(client, id, 1)
  await untilEnded(client, fired.request_id)
  assert.equal(model.requests.length, 1, 'a run of the valid key alone')
  const resumed = await client.request('POST', `${path}/${other.id}/resume`)
  assert.deepEqual([resumed.body.status, resumed.body.next_at], ['active', '2026-12-02T09:00:00Z'])
  await goTo('2026-12-02T09:00:00Z')
  assert.deepEqual(outcomes(await untilFires(client, other.id, 2)), ['started', 'refused'])
})

test('a change of the name 30 seconds before the time does not move it; another cron does', async (t) => {
  const { client, clock, create, goTo } = await start(t)
  const { id } = await create({})
  clock.set('2026-12-01T08:59:30Z')
  const renamed = await client.request('PATCH', `${path}/${id}`, { body: { name: 'Renamed' } })
  assert.deepEqual([renamed.status, renamed.body.name, renamed.body.next_at], [200, 'Renamed', '2026-12-01T09:00:00Z'])
  await goTo('2026-12-01T09:00:01Z')
  assert.deepEqual(outcomes(await untilFires(client, id, 1)), ['started'])
  const moved = await client.request('PATCH', `${path}/${id}`, { body: { cron: '30 9 * * *' } })
  assert.equal(moved.body.next_at, '2026-12-01T09:30:00Z')
})

test('a change needs the version that it was based on, and is a merge patch', async (t) => {
  const { client, create } = await start(t)
  const { id } = await create({ request: { ...question, auto_memory_retain: true } })
  const { headers } = await client.request('GET', `${path}/${id}`)
  const old = { 'if-match': headers.get('etag') ?? '' }
  const body = { overlap: 'allow', request: { reasoning_effort: 'low', auto_memory_retain: null } }
  const changed = await client.request('PATCH', `${path}/${id}`, { body, headers: old })
  assert.deepEqual([changed.status, changed.body.overlap, changed.body.request], [200, 'allow', { ...question, reasoning_effort: 'low' }])
  const again = await client.request('PATCH', `${path}/${id}`, { body: { name: 'Late' }, headers: old })
  assert.deepEqual([again.status, again.body.details.error_type], [412, 'PreconditionFailed'])
  const faulty = await client.request('PATCH', `${path}/${id}`, { body: { timezone: null } })
  assert.deepEqual([faulty.status, faultOf(faulty)], [422, ['body', 'timezone']])
  assert.equal(
    (await client.request('PATCH', `${path}/${id}`, { body: { at: '2027-01-01T00:00:00Z', cron: null, timezone: null } })).body.at,
    '2027-01-01T00:00:00Z',
  )
})

test('schedules of another tenant and of another caller are not found in any route; administrators read, pause and end', async (t) => {
  const { as, client, create } = await start(t)
  const { id } = await create({})
  const strangers = [await as({ tenant: 'beta', roles: ['admin'] }), await as({ sub: 'bob' })]
  const requests: [string, string, object?][] = [
    ['GET', ''],
    ['PATCH', '', { name: 'x' }],
    ['DELETE', ''],
    ['POST', '/pause'],
    ['POST', '/resume'],
    ['POST', '/trigger'],
    ['GET', '/fires'],
  ]
  for (const stranger of strangers) {
    for (const [method, below, body] of requests)
      assert.equal((await stranger.request(method, `${path}/${id}${below}`, body && { body })).status, 404, `${method} ${below}`)
    assert.deepEqual((await stranger.request('GET', path)).body.schedules, [])
  }
  const admin = await as({ sub: 'boss', roles: ['admin'] })
  const answers: [string, string, number][] = [
    ['GET', '', 200],
    ['GET', '/fires', 200],
    ['POST', '/trigger', 403],
    ['POST', '/pause', 200],
    ['POST', '/resume', 403],
    ['DELETE', '', 200],
  ]
  for (const [method, below, status] of answers)
    assert.equal((await admin.request(method, `${path}/${id}${below}`)).status, status, `${method} ${below}`)
  const [listed, ...others] = (await admin.request('GET', path)).body.schedules
  const { body: read } = await admin.request('GET', `${path}/${id}`)
  assert.deepEqual([listed.request, read.request, others], [{}, {}, []], 'what the owner asks is for the owner alone')
  assert.deepEqual((await client.request('GET', `${path}/${id}`)).body.request, question)
})

test('two schedules of the same second both fire, and a schedule with one time ends with it', async (t) => {
  const { client, create, goTo } = await start(t)
  const once = { cron: undefined, timezone: undefined, at: '2026-12-01T09:00:00Z' }
  const ids = [await create(once), await create(once)].map(({ id }) => id as string)
  await goTo('2026-12-01T09:00:00Z')
  for (const id of ids) {
    assert.deepEqual(outcomes(await untilFires(client, id, 1)), ['started'])
    const { status, next_at: nextAt } = await read(client, id)
    assert.deepEqual([status, nextAt], ['ended', null])
    assert.equal((await trigger(client, id)).body.details.error_type, 'ScheduleEnded')
  }
})

test('max_fires counts runs, and neither skipped times nor triggers', async (t) => {
  const answer = Promise.withResolvers<void>()
  const { client, create, goTo } = await start(t, { script: () => ({ text: ['Four.'], begins: answer.promise }) })
  const { id } = await create({ max_fires: 1 })
  const { body } = await trigger(client, id)
  await goTo('2026-12-01T09:00:00Z')
  assert.deepEqual(outcomes(await untilFires(client, id, 2)).toSorted(), ['skipped', 'started'])
  assert.equal((await read(client, id)).status, 'active')
  answer.resolve()
  await untilEnded(client, body.request_id)
  await goTo('2026-12-02T09:00:00Z')
  await untilFires(client, id, 3)
  assert.equal((await read(client, id)).status, 'ended')
})

test('a schedule that a change leaves no run to fire ends', async (t) => {
  const { client, create, goTo } = await start(t)
  const { id } = await create({})
  await goTo('2026-12-01T09:00:00Z')
  await untilFires(client, id, 1)
  const { body } = await client.request('PATCH', `${path}/${id}`, { body: { max_fires: 1 } })
  assert.deepEqual([body.status, body.next_at], ['ended', null])
})

test('failed runs in a row pause the schedule, and none of them is fired again', async (t) => {
  const { client, create, goTo } = await start(t, { script: { status: 400, body: { error: { message: 'no' } } } as never })
  const { id } = await create({ pause_after_failures: 2 })
  for (const [day, count] of [
    ['01', 1],
    ['02', 2],
  ] as const) {
    await goTo(`2026-12-${day}T09:00:00Z`)
    const [fire] = await untilFires(client, id, count)
    assert.equal((await untilEnded(client, fire.request_id)).body.status, 'error')
  }
  await goTo('2026-12-03T09:00:00Z')
  assert.deepEqual(outcomes(await untilFires(client, id, 3)), ['skipped', 'started', 'started'])
  const { status, pause_reason: reason } = await read(client, id)
  assert.deepEqual([status, reason], ['paused', 'failures'])
  assert.equal((await client.request('POST', `${path}/${id}/resume`)).body.status, 'active')
  await goTo('2026-12-04T09:00:00Z')
  assert.equal((await untilFires(client, id, 4))[0].outcome, 'started')
})

test('times during a pause are dropped, and a clock that goes back fires nothing twice', async (t) => {
  const { client, create, goTo } = await start(t)
  const { id } = await create({ cron: '0 * * * *' })
  await goTo('2026-12-01T09:00:00Z')
  await untilFires(client, id, 1)
  const paused = await client.request('POST', `${path}/${id}/pause`, { body: { reason: 'Holidays' } })
  assert.deepEqual([paused.body.status, paused.body.pause_reason, paused.body.next_at], ['paused', 'Holidays', null])
  await goTo('2026-12-01T13:30:00Z')
  assert.equal((await client.request('POST', `${path}/${id}/resume`)).body.next_at, '2026-12-01T14:00:00Z')
  await goTo('2026-12-01T08:30:00Z')
  await goTo('2026-12-01T09:30:00Z')
  await goTo('2026-12-01T14:00:00Z')
  const fires = await untilFires(client, id, 2)
  assert.deepEqual(
    fires.map(({ scheduled_for: at }: { scheduled_for: string }) => at),
    ['2026-12-01T14:00:00Z', '2026-12-01T09:00:00Z'],
  )
})

test('all runs of `same` have one session, which begins again after its deletion; `new` makes one for each', async (t) => {
  const { client, create } = await start(t)
  const { id } = await create({ session: 'same' })
  const sessionOf = async () => {
    const { body } = await trigger(client, id)
    return (await untilEnded(client, body.request_id)).body.session_id as string
  }
  const first = await sessionOf()
  assert.equal(await sessionOf(), first)
  assert.equal((await client.session(first)).body.messages.length, 4)
  assert.equal((await client.request('DELETE', `/core/v1/sessions/${first}`)).status, 200)
  assert.equal(await sessionOf(), first)
  assert.equal((await client.session(first)).body.messages.length, 2)
  assert.deepEqual(
    (await firesOf(client, id)).map(({ status }: { status?: string }) => status),
    ['success', undefined, undefined],
  )
  const own = await create({ session: { session_id: 'my-session' } })
  assert.deepEqual(own.session, { session_id: 'my-session' })
  const { body } = await trigger(client, own.id)
  assert.equal((await untilEnded(client, body.request_id)).body.session_id, 'my-session')
})

test('a caller has no more schedules than the configuration allows; ended ones do not count', async (t) => {
  const { client, as, create } = await start(t, { config: { schedules: { max_per_caller: 2, max_per_tenant: 3 } } })
  const [first] = [await create({}), await create({})]
  const third = await client.request('POST', path, { body: daily })
  assert.deepEqual([third.status, third.body.details.error_type], [409, 'ScheduleLimit'])
  const bob = await as({ sub: 'bob' })
  await create({}, bob)
  assert.equal((await bob.request('POST', path, { body: daily })).status, 409)
  await client.request('DELETE', `${path}/${first.id}`)
  await create({})
})

test('a used up budget refuses a time with its reason, and the next time is tried', async (t) => {
  const budgets = [{ name: 'night', scope: 'caller', window: 'day', limit: { tokens: 0 }, match: { operations: ['schedule'] } }]
  const { client, create, goTo, model } = await start(t, { config: { budgets } })
  const { id } = await create({})
  await goTo('2026-12-01T09:00:00Z')
  const [fire] = await untilFires(client, id, 1)
  assert.deepEqual([fire.outcome, fire.reason], ['refused', 'budget_exceeded'])
  assert.equal((await read(client, id)).next_at, '2026-12-02T09:00:00Z')
  assert.equal(model.requests.length, 0)
  assert.equal((await client.chat('2 + 2?')).status, 200, 'the budget counts schedules alone')
})

test('a fire counts as a request of its owner: over the rate limit, its time is refused', async (t) => {
  const { client, as, create, clock } = await start(t, { config: { access: { rate_limits: { user: { requests_per_minute: 2 } } } } })
  const admin = await as({ sub: 'boss', roles: ['admin'] })
  const { id } = await create({ overlap: 'allow' })
  const fireAt = async (time: string, count: number) => {
    clock.set(time)
    await wake(admin)
    return (await untilFires(admin, id, count))[0]
  }
  assert.equal((await fireAt('2026-12-01T09:00:00Z', 1)).outcome, 'started')
  const { outcome, reason } = await fireAt('2026-12-02T09:00:00Z', 2)
  assert.deepEqual([outcome, reason], ['refused', 'rate_limited'])
  assert.equal((await client.request('GET', path)).status, 429)
})

test('a refused time cancels no running fire', async (t) => {
  const rateLimits = { user: { requests_per_minute: 3 } }
  const script = () => ({ text: ['Four.'], begins: new Promise<void>(() => undefined) })
  const { client, as, create, clock } = await start(t, { script, config: { access: { rate_limits: rateLimits } } })
  const admin = await as({ sub: 'boss', roles: ['admin'] })
  const { id } = await create({ overlap: 'cancel_running' })
  await trigger(client, id)
  clock.set('2026-12-01T09:00:00Z')
  await wake(admin)
  const fires = await untilFires(admin, id, 2)
  assert.deepEqual([fires[0].reason, fires[1].outcome], ['rate_limited', 'started'])
  assert.match(fires[1].status, /pending|running/)
})

test('a callback URL that is not permitted any more refuses the time', async (t) => {
  const { create, client, settings, goTo, model } = await start(t)
  const { id } = await create({})
  const database = await openDatabase(settings)
  const store = createScheduleStore(database, openRunInsert(database))
  const schedule = (await store.find('default', id))!
  await store.change(schedule, ({ request }) => ({ changes: { request: { ...request, callbackUrl: 'http://127.0.0.1:1/' } } }))
  await database.close()
  await goTo('2026-12-01T09:00:00Z')
  const [{ outcome, reason }] = await untilFires(client, id, 1)
  assert.deepEqual([outcome, reason, model.requests.length], ['refused', 'callback_url', 0])
})

test('runs have the roles that the identity provider has last stated for the owner, for 30 days', async (t) => {
  const provider = await startIdentityProvider(t)
  const service = await start(t, { environment: provider.environment })
  const admin = await service.as({ sub: 'boss', roles: ['admin'] })
  const eveWith = async (roles: string[]) => createClient(service.url, await provider.token({ sub: 'eve', tenant: 'default', roles }))
  const ids = []
  for (const name of ['first', 'second']) ids.push((await service.create({ name, overlap: 'allow' }, await eveWith(['user']))).id)
  const [first, second] = ids as [string, string]
  await admin.request('POST', `${path}/${second}/pause`)
  const fireAt = async (time: string, count: number) => {
    const boss = await service.as({ sub: 'boss', roles: ['admin'] })
    service.clock.set(time)
    await wake(boss)
    return (await untilFires(boss, first, count))[0]
  }
  assert.equal((await fireAt('2026-12-01T09:00:00Z', 1)).outcome, 'started', 'the token may have expired since')
  await service.restart()
  const now = await eveWith(['viewer'])
  assert.equal((await now.request('GET', path)).status, 200)
  await service.restart()
  const { outcome, reason } = await fireAt('2026-12-02T09:00:00Z', 2)
  assert.deepEqual([outcome, reason], ['refused', 'forbidden'])
  const away = await fireAt('2027-01-01T09:00:00Z', 3)
  assert.deepEqual([away.outcome, away.reason], ['refused', 'owner_away'])
  const boss = await service.as({ sub: 'boss', roles: ['admin'] })
  const { status, pause_reason: why } = await read(boss, first)
  assert.deepEqual([status, why], ['paused', 'owner_away'])
})

test('copied images reach the model, and headers of the creator do not', async (t) => {
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const { client, model, settings } = await start(t, { modelFields: { images: true } })
  const request = { ...question, images: [{ type: 'base64', content: pixel }] }
  const created = await client.request('POST', path, { body: { ...daily, request }, headers: { 'stix-token': 'secret-of-ann' } })
  assert.equal(created.status, 201, created.text)
  assert.deepEqual(created.body.request.images, [{ type: 'base64', content: '' }])
  const { id } = created.body
  await client.request('PATCH', `${path}/${id}`, { body: { request: { messages: [{ role: 'user', content: 'And now?' }] } } })
  const { body } = await trigger(client, id)
  await untilEnded(client, body.request_id)
  const [asked] = model.requests
  assert.match(JSON.stringify(asked?.body), /And now\?/)
  assert.match(JSON.stringify(asked?.body), /image_url/)
  assert.doesNotMatch(JSON.stringify(asked), /secret-of/)
  await client.request('PATCH', `${path}/${id}`, { body: { request: { context_files: null } } })
  const again = (await trigger(client, id)).body
  await untilEnded(client, again.request_id)
  assert.match(JSON.stringify(model.requests[1]?.body), /image_url/)
  await client.request('DELETE', `${path}/${id}`)
  const database = await openDatabase(settings)
  const media = await createScheduleStore(database, openRunInsert(database)).media({ tenant: 'default', owner: 'agent-core ann', id })
  await database.close()
  assert.deepEqual(media, { images: [], files: [] }, 'an ended schedule has no bytes')
})

test('an uploaded file is copied: the run has the text after the upload was deleted', async (t) => {
  const { client, as, key, url, create, model } = await start(t)
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new Blob(['The North sold 42 chairs.'], { type: 'text/plain' }), 'north.txt')
  const headers = { 'x-service-access': (await key()).key }
  const upload = (await (await fetch(`${url}/v1/files`, { method: 'POST', headers, body: form })).json()) as { id: string }
  const { id } = await create({ request: { ...question, context_files: [upload.id] } })
  assert.equal((await (await as()).request('DELETE', `/v1/files/${upload.id}`)).status, 200)
  const { body } = await trigger(client, id)
  assert.equal((await untilEnded(client, body.request_id)).body.status, 'success')
  assert.match(JSON.stringify(model.requests[0]?.body), /The North sold 42 chairs/)
})

test('a key that may not chat triggers nothing, whatever the key of the schedule may do', async (t) => {
  const roles = { scheduler: ['schedules.read', 'schedules.write'] }
  const { as, create, model } = await start(t, { config: { access: { roles } } })
  const { id } = await create({})
  const refused = await trigger(await as({ roles: ['scheduler'] }), id)
  assert.deepEqual([refused.status, refused.body.details.error_type, model.requests.length], [403, 'Forbidden', 0])
})

test('an event with the ids of a fire is refused to the fire, which names no run of its own', async (t) => {
  const { client, create, goTo } = await start(t)
  const { id } = await create({})
  const eventId = `schedule:${id}:${Date.parse('2026-12-01T09:00:00Z')}`
  const body = { specversion: '1.0', type: 'ai.service.agent.chain', source: `schedule:${id}`, id: eventId, data: question }
  assert.equal((await client.request('POST', '/core/v1/chain_async', { body })).status, 200)
  await goTo('2026-12-01T09:00:00Z')
  const [{ outcome, reason, request_id: requestId }] = await untilFires(client, id, 1)
  assert.deepEqual([outcome, reason, requestId], ['refused', 'request_id_reused', undefined])
})

test('a page of fires begins behind a time, which is a whole number', async (t) => {
  const { client, create } = await start(t)
  const { id } = await create({})
  for (const position of ['1.5', '1e99', '-1e400', '"x"', '1,2']) {
    const before = Buffer.from(`[${position}]`).toString('base64url')
    assert.equal((await client.request('GET', `${path}/${id}/fires?before=${before}`)).status, 422, position)
  }
})

test('an unknown schedule is 404, and schedules can be switched off', async (t) => {
  const { client } = await start(t, { config: { schedules: { enabled: false } } })
  assert.equal((await client.request('GET', `${path}/${unknownId}`)).status, 404)
  assert.equal((await client.request('GET', `${path}/${randomUUID()}/fires`)).status, 404)
  assert.equal((await client.request('POST', path, { body: daily })).status, 403)
  assert.deepEqual((await client.request('GET', path)).body, { schedules: [], enabled: false, offset: '', has_more: false })
})
