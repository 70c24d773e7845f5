import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../test/fixtures/async-client.ts'
import { callOf, fakeTool, gatedTool } from '../../test/fixtures/tools.ts'
import { startService, type ServiceOptions, type Who } from '../../test/fixtures/service.ts'
import { AgentCoreError, BudgetExceededError, createClient, type Chunk, type RunStream } from '../src/index.ts'

type Test = Parameters<typeof startService>[0]

async function start(t: Test, options: ServiceOptions = {}) {
  const service = await startService(t, options)
  const as = async (who?: Who) => createClient({ baseUrl: service.url, accessKey: (await service.key(who)).key, retryDelayMs: 10 })
  return { service, as, client: await as() }
}

const ask = (content: string) => ({ messages: [{ role: 'user' as const, content }] })

async function collect<T>(elements: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const element of elements) collected.push(element)
  return collected
}

async function typeOf(call: Promise<unknown>): Promise<string> {
  const error = await call.catch((error: unknown) => error)
  assert.ok(error instanceof AgentCoreError, String(error))
  return `${error.status} ${error.errorType}`
}

test('chat: the answer has the ids of run and session; the same request id runs once', async (t) => {
  const { client, service } = await start(t, { script: [{ text: 'one' }, { text: 'two' }] })
  const first = await client.chat(ask('Go.'))
  assert.equal(first.body.output, 'one')
  const again = await client.chat(ask('Go.'), { requestId: first.request_id })
  assert.deepEqual(again, first)
  const next = await client.chat({ ...ask('Go on.'), session_id: first.session_id })
  assert.deepEqual({ output: next.body.output, session_id: next.session_id }, { output: 'two', session_id: first.session_id })
  assert.equal(service.model.requests.length, 2)
  assert.equal(await typeOf(client.chat(ask('Other.'), { requestId: first.request_id })), '409 RequestIdReused')
})

test('chat: 429 and 503 are repeated with the same request id', async (t) => {
  const { service } = await start(t, { script: { text: 'done' } })
  const ids: (string | null)[] = []
  const { key } = await service.key()
  const busy = (status: number) => new Response('{"body":"busy","status_code":503}', { status, headers: { 'retry-after': '0' } })
  const flaky: typeof fetch = async (input, init) => {
    ids.push(new Headers(init?.headers).get('request-id'))
    if (ids.length <= 2) return busy(ids.length === 1 ? 429 : 503)
    const reply = await fetch(input, init)
    if (ids.length > 3) return reply
    await reply.text()
    throw new TypeError('the connection broke')
  }
  const client = createClient({ baseUrl: service.url, accessKey: key, fetch: flaky, retryDelayMs: 1 })
  assert.equal((await client.chat(ask('Go.'))).body.output, 'done')
  assert.deepEqual({ attempts: ids.length, ids: new Set(ids).size }, { attempts: 4, ids: 1 })
  assert.equal(service.model.requests.length, 1)
})

test('chat, stream: an answer with a schema is JSON; one that does not fit is an error, and is not asked for again', async (t) => {
  const response_schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const script = [{ text: '{"n":"x"}' }, { text: '{"n":1}' }, { text: '{"n":2}' }, { text: 'none' }]
  const { client, service } = await start(t, { script })
  const stream = client.stream({ ...ask('How many?'), response_schema })
  await collect(stream)
  assert.deepEqual(JSON.parse(stream.output), { n: 1 })
  assert.deepEqual((await client.runs.get(stream.requestId)).outcome?.structured_output, { n: 1 })
  assert.deepEqual((await client.chat({ ...ask('And now?'), response_schema })).body.structured_output, { n: 2 })
  const error: unknown = await client.chat({ ...ask('And now?'), response_schema }).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof AgentCoreError)
  assert.deepEqual(
    [error.status, error.errorType, error.details['output'], service.model.requests.length],
    [502, 'SchemaMismatch', 'none', 6],
  )
})

test('models: the configured models are listed with what each can do', async (t) => {
  const { client } = await start(t, { script: { text: 'ok' } })
  const { models, count } = await client.models()
  assert.deepEqual([count, models[0]?.name, models[0]?.wire, models[0]?.abilities.tools], [1, 'primary', 'chat-completions', true])
})

test('stream: a run is followed from its start by its chat, and by a second reader from any chunk', async (t) => {
  const { client } = await start(t, {
    script: [{ ...callOf('look'), text: 'I look.' }, { text: 'Seen.' }],
    tools: [fakeTool('look', async () => 'x')],
  })
  const stream = client.stream(ask('Look.'))
  const chunks = await collect(stream)
  assert.deepEqual(
    chunks.map(({ number }) => number),
    chunks.map((_, index) => index + 1),
  )
  assert.equal(stream.output, 'Seen.')
  assert.equal(chunks.at(-1)?.finish_reason, 'stop')
  const rest = (lastEventId: number) => collect(client.runs.stream(stream.requestId, { lastEventId }))
  assert.deepEqual(await rest(0), chunks)
  assert.deepEqual(await rest(2), chunks.slice(2))
  assert.deepEqual(await rest(chunks.length), [])
  assert.equal((await client.runs.get(stream.requestId)).outcome?.output, 'Seen.')
})

test('stream: connections that a proxy cuts all the time lose and repeat nothing', async (t) => {
  const { service } = await start(t, { script: { text: 'a b c d e f g h i j k l m n o p q r s t u v w x y z' } })
  const { key } = await service.key()
  let seed = 7
  const cutting: typeof fetch = async (input, init) => {
    const reply = await fetch(input, init)
    if (!reply.body || reply.status !== 200) return reply
    let budget = 150 + ((seed = (seed * 48271) % 2147483647) % 400)
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        controller.enqueue(bytes.subarray(0, budget))
        if (budget < bytes.length) controller.error(new Error('cut'))
        budget -= bytes.length
      },
    })
    return new Response(reply.body.pipeThrough(cut), { status: reply.status, headers: reply.headers })
  }
  const client = createClient({ baseUrl: service.url, accessKey: key, fetch: cutting, retryDelayMs: 1, retries: 30 })
  const stream = client.stream(ask('Letters, please.'))
  const chunks = await collect(stream)
  const whole = await collect(createClient({ baseUrl: service.url, accessKey: key }).runs.stream(stream.requestId))
  assert.deepEqual(chunks, whole)
  assert.equal(stream.output, 'a b c d e f g h i j k l m n o p q r s t u v w x y z')
})

test('stream: a restarted service goes on with the run', async (t) => {
  const gate = gatedTool('wait')
  const { service } = await start(t, { tools: [gate.tool], script: [{ ...callOf('wait'), text: 'I wait.' }, { text: 'Done.' }] })
  const { key } = await service.key()
  const moving: typeof fetch = (input, init) => fetch(String(input).replace('http://service', service.url), init)
  const client = createClient({ baseUrl: 'http://service', accessKey: key, fetch: moving })
  const stream = client.stream({ ...ask('Wait.'), on_disconnect: 'continue' })
  const numbers: number[] = []
  const reading = (async () => {
    for await (const { number, agent_step: label } of stream) numbers.push(label === 'retrying' ? -number : number)
  })()
  await gate.entered
  await service.restart()
  gate.open()
  await reading
  assert.equal(stream.output, 'Done.')
  let last = 0
  for (const number of numbers) {
    assert.ok(number === last + 1 || number <= 0, numbers.join(' '))
    last = Math.abs(number)
  }
})

test('approvals: a stream goes on when its call is decided; a chat is repeated', async (t) => {
  const tool = fakeTool('send', async () => 'sent', { effect: 'write', approval: { by: 'caller' } })
  const { client } = await start(t, { tools: [tool], script: [callOf('send'), { text: 'Sent.' }, callOf('send'), { text: 'Not sent.' }] })
  const stream: RunStream = client.stream(ask('Send.'), { throughApprovals: true })
  const reasons: Chunk['finish_reason'][] = []
  for await (const { finish_reason: reason, approval_required: waiting } of stream) {
    if (reason !== 'null') reasons.push(reason)
    for (const { tool_call_id } of waiting?.calls ?? [])
      await client.approvals.decide(stream.requestId, { tool_call_id, decision: 'approve' })
  }
  assert.deepEqual({ reasons, output: stream.output }, { reasons: ['approval_required', 'stop'], output: 'Sent.' })

  const waiting = await client.chat(ask('Send again.'))
  assert.ok('approval_required' in waiting)
  const approvals = await collect(client.approvals.all({ limit: 1 }))
  assert.deepEqual(
    approvals.map(({ request_id }) => request_id),
    [waiting.request_id],
  )
  await client.approvals.decide(waiting.request_id, { tool_call_id: approvals[0]!.tool_call_id, decision: 'reject', reason: 'no' })
  const answer = await client.chat(ask('Send again.'), { requestId: waiting.request_id })
  assert.equal(answer.body.output, 'Not sent.')
})

test('runs: list, cancel, feedback and refusals', async (t) => {
  const gate = gatedTool('wait')
  const { client } = await start(t, { tools: [gate.tool], script: [callOf('wait'), { text: 'one' }, { text: 'two' }, { text: '[]' }] })
  const stream = client.stream(ask('Wait.'))
  const reading = collect(stream)
  await gate.entered
  assert.equal((await client.runs.cancel(stream.requestId)).status, 'cancelled')
  assert.equal((await reading).at(-1)?.finish_reason, 'cancelled')
  assert.equal(await typeOf(client.runs.cancel(stream.requestId)), '409 RunEnded')
  assert.equal(await typeOf(client.runs.get('unknown')), '404 NotFound')
  assert.equal(await typeOf(collect(client.runs.stream('unknown'))), '404 NotFound')
  const answers = [await client.chat(ask('One.')), await client.chat(ask('Two.'))]
  await client.runs.feedback(answers[0]!.request_id, { score: 1 })
  const listed = await collect(client.runs.all({ limit: 1 }))
  const ids = [stream.requestId, ...answers.map(({ request_id }) => request_id)]
  assert.deepEqual(
    listed.map(({ request_id }) => request_id),
    ids.toReversed(),
  )
  const { spans } = await client.runs.trace(answers[0]!.request_id)
  assert.equal(spans[0]?.kind, 'run')
  const model = spans.find(({ kind }) => kind === 'model')!
  assert.deepEqual(
    (await client.runs.trace(answers[0]!.request_id, { span: model.id })).spans.map(({ id }) => id),
    [model.id],
  )
  const page = await client.runs.list({ status: 'cancelled' })
  assert.deepEqual({ count: page.runs.length, more: page.has_more }, { count: 1, more: false })
  assert.equal(await typeOf(client.runs.resendCallback(answers[0]!.request_id)), '404 NotFound')
})

test('sessions: all pages, a session, a fork, a deletion', async (t) => {
  const { client } = await start(t, { script: { text: 'yes' } })
  const ids: string[] = []
  for (const number of [1, 2, 3]) ids.push((await client.chat(ask(`Question ${number}`))).session_id)
  const sessions = await collect(client.sessions.all({ limit: 2 }))
  assert.deepEqual(
    sessions.map(({ session_id }) => session_id),
    ids.toReversed(),
  )
  assert.equal((await client.sessions.list({ limit: 1 })).sessions[0]?.short_name, 'Question 3')
  const matches = await collect(client.sessions.all({ q: 'question', limit: 1 }))
  assert.equal(matches.length, 3)
  const { messages } = await client.sessions.get(ids[0]!)
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['Question 1', 'yes'],
  )
  const brought = { messages: [{ role: 'human' as const, content: 'Call me Ada.', timestamp: 1_790_000_000 }] }
  for (let n = 0; n < 2; n++) assert.equal((await client.sessions.create(brought, { requestId: 'moved' })).session_id, 'moved')
  const fork = await client.sessions.fork(ids[0]!, 2)
  assert.equal((await client.sessions.get(fork.session_id)).messages.length, 2)
  await client.sessions.delete(ids[0]!)
  assert.equal(await typeOf(client.sessions.get(ids[0]!)), '404 NotFound')
})

test('tools, artifacts: a tool is executed; its file in a chat is linked and shared', async (t) => {
  const note = fakeTool('note', async (_input, context) => {
    await context.artifact('note.txt', 'text/plain', Buffer.from('hello'))
    return { written: true }
  })
  const { as } = await start(t, { tools: [note], script: [callOf('note'), { text: 'Written.' }] })
  const client = await as({ roles: ['admin'] })
  assert.ok((await client.tools.list()).tools.some(({ name }) => name === 'note'))
  const result = await client.tools.execute({ tool_name: 'note', tool_input: {} })
  assert.deepEqual({ status: result.status, output: result.output }, { status: 'success', output: { written: true } })
  assert.equal(await typeOf(client.tools.execute({ tool_name: 'missing' })), '404 NotFound')
  assert.deepEqual((await client.tools.changed()).tools, [])
  assert.match(await typeOf(client.tools.accept('note__x')), /^404 /)
  const { session_id: sessionId } = await client.chat(ask('Note it.'))
  const link = await client.artifacts.link({ sessionId, messageIndex: 1, artifactIndex: 0 })
  assert.equal(await (await fetch(link.download_url)).text(), 'hello')
  const shared = await client.artifacts.share({ sessionId, messageIndex: 1, artifactIndex: 0 })
  assert.equal(shared.file_name, 'note.txt')
  const artifacts = await collect(client.artifacts.all({ limit: 1 }))
  assert.equal(artifacts[0]?.file_name, 'note.txt')
  const content = await client.artifacts.content(artifacts.at(-1)!.artifact_id)
  assert.equal(await content.text(), 'hello')
  assert.equal(await typeOf(client.artifacts.content('unknown')), '404 NotFound')
})

test('configuration: a change is checked, based on a version, and refused with its faults', async (t) => {
  const { as, client } = await start(t)
  const admin = await as({ roles: ['admin'] })
  const { version, configuration } = await admin.configuration.get()
  assert.ok('llms' in configuration)
  const checked = await admin.configuration.update({ description: 'Helps.' }, { validateOnly: true, ifMatch: version })
  assert.equal(checked.success, true)
  assert.equal((await admin.configuration.get()).version, version)
  const updated = await admin.configuration.update({ description: 'Helps.' }, { ifMatch: version })
  assert.deepEqual(updated.diff, ['description'])
  assert.match(await typeOf(admin.configuration.update({ description: '' }, { ifMatch: version })), /^412 /)
  const { versions } = await admin.configuration.history()
  assert.ok(versions.length > 0)
  const fault = await admin.configuration.update({ llms: 1 }).catch((error: unknown) => error as AgentCoreError)
  assert.ok(fault instanceof AgentCoreError)
  assert.deepEqual(
    [fault.status, fault.errorType, fault.details.errors?.[0]?.loc],
    [422, 'ValidationError', ['body', 'configuration', 'llms']],
  )
  assert.equal(await typeOf(client.configuration.get()), '403 Forbidden')
  assert.equal((await createClient({ baseUrl: (await start(t)).service.url }).configuration.schema())['type'], 'object')
})

test('keys: a key is created, listed and revoked', async (t) => {
  const { as } = await start(t)
  const admin = await as({ roles: ['admin'] })
  const { jti, key } = await admin.keys.create({ sub: 'bob', roles: ['viewer'] })
  assert.match(key, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  const listed = await collect(admin.keys.all({ limit: 1 }))
  assert.ok(listed.some((entry) => entry.jti === jti && entry.sub === 'bob'))
  assert.ok((await admin.keys.revoke(jti)).revoked_at)
  const { jti: another, created_by: creator } = await admin.keys.create({ sub: 'carl', roles: ['viewer'] })
  assert.deepEqual((await admin.keys.revokeCreatedBy(creator!)).revoked, [another])
  assert.match(await typeOf(admin.keys.create({ sub: 'bob', roles: ['unknown'] })), /^422 /)
})

test('service: the agent, the caller, roles, metrics, logs, sub-agents and memories', async (t) => {
  const { as } = await start(t, { config: { name: 'Helper' } })
  const client = await as({ roles: ['admin'] })
  await client.chat(ask('What is 2 + 2?'))
  assert.equal((await client.metadata()).name, 'Helper')
  assert.deepEqual(((me) => ({ sub: me.sub, roles: me.roles }))(await client.me()), { sub: 'ann', roles: ['admin'] })
  assert.ok((await client.roles()).roles.some(({ name }) => name === 'viewer'))
  await until(
    async () => (await client.logs()).entries,
    (entries) => entries.length === 1 && entries[0]?.status === 'success',
  )
  assert.deepEqual((await client.metrics())['status_value_counts'], { success: 1, error: 0, cancelled: 0, timeout: 0 })
  const { sub_agent_id: id } = await client.subAgents.create({ name: 'clerk', objective: 'Files things.' })
  assert.equal((await client.subAgents.get(id)).name, 'clerk')
  assert.equal((await client.subAgents.list()).sub_agents.length, 1)
  await client.subAgents.delete(id)
  assert.equal(await typeOf(client.subAgents.get(id)), '404 NotFound')
  assert.deepEqual((await client.contextFiles('sales')).files, [])
  assert.deepEqual((await client.callbacks()).callbacks, [])
  assert.deepEqual((await client.memories.list()).memories, [])
  assert.deepEqual(await collect(client.memories.all()), [])
  assert.equal(await typeOf(client.memories.delete('unknown')), '404 NotFound')
})

test('budgets: what is spent is listed, a used-up budget is one request with the time of its reset, and an override lets the next chat pass', async (t) => {
  const budgets = [{ name: 'caller-day', scope: 'caller', window: 'day', limit: { tokens: 700 } }]
  const script = { text: 'done', usage: { input: 100, output: 300 } }
  const { as, service } = await start(t, { script, config: { budgets } })
  const [client, admin] = [await as({ sub: 'ann' }), await as({ sub: 'boss', roles: ['admin'] })]
  await client.chat(ask('Go.'))
  const [budget] = (await client.budgets.list({ scope: 'caller' })).budgets
  assert.deepEqual([budget!.subject, budget!.spent, budget!.remaining], ['agent-core ann', { tokens: 400 }, { tokens: 300 }])
  const { key } = await service.key({ sub: 'ann' })
  let requests = 0
  const counting: typeof fetch = (...request) => (requests++, fetch(...request))
  const eager = createClient({ baseUrl: service.url, accessKey: key, fetch: counting, retryDelayMs: 1 })
  const error = await eager.chat(ask('Go '.repeat(50))).catch((reason: unknown) => reason)
  assert.ok(error instanceof BudgetExceededError && error instanceof AgentCoreError, String(error))
  assert.deepEqual([error.name, error.status, error.errorType, error.budget], ['BudgetExceededError', 429, 'BudgetExceeded', 'caller-day'])
  assert.equal(error.resetsAt!.toISOString(), budget!.resets_at)
  const stream = eager.stream(ask('Go '.repeat(50)))
  await assert.rejects(collect(stream), BudgetExceededError)
  assert.equal(requests, 2)
  const until = budget!.resets_at!
  assert.equal(await typeOf(client.budgets.override('caller-day', { limit: { tokens: 9000 }, until })), '403 Forbidden')
  const raised = await admin.budgets.override('caller-day', { subject: budget!.subject, limit: { tokens: 9000 }, until })
  assert.deepEqual([raised.limit, raised.override!.by], [{ tokens: 9000 }, 'boss'])
  assert.equal((await client.chat(ask('Go '.repeat(300)))).body.output, 'done')
  assert.deepEqual((await admin.budgets.clear('caller-day', budget!.subject)).limit, { tokens: 700 })
  assert.deepEqual(
    (await collect(admin.budgets.all({ limit: 1 }))).map(({ subject }) => subject),
    ['agent-core boss', 'agent-core ann'],
  )
})

test('schedules: one is previewed, created once, changed unless another change came first, triggered, paused, resumed and ended', async (t) => {
  const { as } = await start(t, { script: { text: 'done' } })
  const client = await as({ sub: 'ann' })
  const times = { cron: '30 2 * * *', timezone: 'Europe/Berlin' }
  const { occurrences } = await client.schedules.preview({ ...times, from: '2027-03-27T12:00:00Z', count: 2 })
  assert.deepEqual(
    occurrences.map(({ at, note }) => [at, note]),
    [
      ['2027-03-28T01:00:00Z', 'moved_by_dst'],
      ['2027-03-29T00:30:00Z', undefined],
    ],
  )
  const create = () => client.schedules.create({ name: 'Night', ...times, request: ask('Go.') }, { requestId: 'c1' })
  const { id, etag } = await create()
  assert.equal((await create()).id, id)
  assert.equal(typeof etag, 'string')
  const changed = await client.schedules.update(id, { name: 'Morning' }, { ifMatch: etag })
  assert.equal(changed.name, 'Morning')
  assert.equal(await typeOf(client.schedules.update(id, { name: 'Noon' }, { ifMatch: etag })), '412 PreconditionFailed')
  assert.equal((await client.schedules.get(id)).etag, changed.etag)
  const { outcome, request_id: run } = await client.schedules.trigger(id)
  assert.equal(outcome, 'started')
  assert.equal((await client.schedules.fires(id)).fires[0]!.request_id, run)
  const paused = await client.schedules.pause(id, 'Holidays')
  assert.deepEqual([paused.status, paused.pause_reason], ['paused', 'Holidays'])
  assert.equal((await client.schedules.resume(id)).status, 'active')
  const listed = await collect(client.schedules.all({ limit: 1 }))
  assert.deepEqual(
    listed.map((schedule) => schedule.name),
    ['Morning'],
  )
  assert.equal((await client.schedules.delete(id)).status, 'ended')
  assert.equal(await typeOf(client.schedules.resume(id)), '409 ScheduleEnded')
  const error = await client.schedules.create({ cron: '@daily', request: ask('Go.') }).catch((reason: unknown) => reason)
  assert.ok(error instanceof AgentCoreError && error.details.errors?.[0]?.loc.join('.') === 'body.timezone', String(error))
})

test('runs.steer: a message is sent once, and is listed with its delivery', async (t) => {
  const look = gatedTool('look')
  const { client } = await start(t, { tools: [look.tool], script: [callOf('look'), { text: 'Done.' }] })
  const reply = client.chat(ask('Go.'), { requestId: 'r1' })
  await look.entered
  const accepted = await client.runs.steer('r1', 'Shorter.', { messageId: 'm1' })
  assert.deepEqual(accepted, { message_id: 'm1', position: 1 })
  assert.deepEqual(await client.runs.steer('r1', 'Shorter.', { messageId: 'm1' }), accepted)
  look.open()
  await reply
  const { messages } = await client.runs.messages('r1')
  assert.deepEqual(
    messages.map(({ message, delivered_to }) => [message, delivered_to]),
    [['Shorter.', 'r1']],
  )
  assert.equal(await typeOf(client.runs.steer('r1', 'Late.')), '409 RunEnded')
})

test('audit: events are listed page by page, exported line by line, and written to a file; a broken export throws', async (t) => {
  const { as, service } = await start(t, { script: { text: 'ok' } })
  const admin = await as({ sub: 'root', roles: ['admin'] })
  const auditor = await as({ sub: 'carl', roles: ['auditor'] })
  for (const sub of ['ada', 'bea', 'cid']) await admin.keys.create({ sub, roles: ['viewer'] })
  const events = await collect(auditor.audit.all({ actor: 'root', limit: 2 }))
  assert.deepEqual(
    events.map(({ action }) => action),
    ['key.created', 'key.created', 'key.created'],
  )
  assert.equal((await auditor.audit.list({ actor: 'root', limit: 2 })).has_more, true)
  const lines = await collect(auditor.audit.export({ since: '2020-01-01' }))
  const created = lines.filter((line) => line.type === 'event' && line.actor.sub === 'root')
  assert.equal(created.length, 3)
  const last = lines.at(-1)
  assert.ok(last?.type === 'head')
  const { heads, jwks } = await auditor.audit.heads()
  assert.deepEqual([heads[0]?.seq, heads[0]?.jws, jwks.keys.length], [last.seq, last.jws, 1])
  const text = await (await auditor.audit.download()).text()
  assert.deepEqual(JSON.parse(text.split('\n', 1)[0]!), lines[0])
  assert.equal(await typeOf(collect((await as({ sub: 'ann' })).audit.export())), '403 Forbidden')

  const { key } = await service.key({ roles: ['auditor'] })
  const cut: typeof fetch = async (input, init) => new Response((await (await fetch(input, init)).text()).slice(0, -9))
  const broken = createClient({ baseUrl: service.url, accessKey: key, fetch: cut })
  assert.equal(await typeOf(collect(broken.audit.export())), '200 InvalidReply')
  for await (const line of auditor.audit.export()) {
    assert.equal(line.type, 'event')
    break
  }
})
