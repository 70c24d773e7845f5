import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver, verify } from '../fixtures/callback-receiver.ts'
import { startModelServer, type ModelAnswer, type ModelScript } from '../fixtures/model-server.ts'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'
import { startService } from '../fixtures/service.ts'

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const silent: ModelAnswer = { silentAfter: 0 }
const ask = (content: string) => ({ messages: [{ role: 'user', content }] })

/** Creates a folder with a scripted model. `start` starts the service, any number of times. */
async function setUp(t: TestContext, script: ModelScript, environment: Record<string, string> = {}) {
  const folder = await makeFolder(t)
  const model = await startModelServer(script)
  t.after(() => model.close())
  const llms = { primary: { provider: 'openai-compatible', model: 'scripted', base_url: model.url } }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms, tools: [{ name: 'calculator' }] }))
  return () => serve(t, folder, environment)
}

async function kill({ child, ended }: RunningService): Promise<void> {
  child.kill('SIGKILL')
  assert.equal(await ended, 'SIGKILL')
}

test('Lost runs: the third death without progress ends a run as ProcessLost, notifies the caller, releases the session, and spares other runs', async (t) => {
  const receiver = await startReceiver(t)
  let deaths = 0
  let innocents = 0
  let deadly = Promise.withResolvers<void>()
  const script: ModelScript = ({ body }) => {
    const { content } = body.messages.findLast(({ role }: { role: string }) => role === 'user')
    if (content === 'innocent') {
      innocents++
      return deaths < 2 ? silent : { text: 'fine' }
    }
    if (content !== 'poison') return { text: 'next' }
    deadly.resolve()
    return silent
  }
  const start = await setUp(t, script, { OUTBOUND_ALLOW: receiver.host, CALLBACK_SECRET: secret, CALLBACK_RETRY_SECONDS: '1' })
  let service = await start()
  const send = (id: string) =>
    sendEvent(service.client, event(id, { ...ask(id), callback_url: receiver.url }), { 'request-id': id, 'session-id': id })
  for (const id of ['poison', 'innocent']) await send(id)
  while (deaths < 3) {
    await deadly.promise
    // The first two kills hit both runs.
    if (deaths < 2)
      await until(
        async () => innocents,
        (calls) => calls > deaths,
      )
    deadly = Promise.withResolvers()
    await kill(service)
    // The next process may call the model before the start is complete.
    deaths++
    service = await start()
  }
  const { client } = service
  const lost = await until(
    async () => (await client.run('poison')).body,
    ({ status }) => status !== 'pending' && status !== 'running',
  )
  assert.deepEqual({ status: lost.status, error_type: lost.error.details.error_type }, { status: 'error', error_type: 'ProcessLost' })
  assert.match(lost.error.body, /3 times in a row/)
  await until(
    async () => (await client.run('innocent')).body,
    ({ status }) => status === 'success',
  )
  await receiver.reaches(2)
  const told = receiver.received.map((received) => verify(secret, received) as { id: string; type: string })
  const types = Object.fromEntries(told.map(({ id, type }) => [id, type]))
  assert.deepEqual(types, { poison: 'ai.service.agent.chain.failed', innocent: 'ai.service.agent.chain.completed' })
  assert.equal((await client.chat(ask('again'), { 'session-id': 'poison' })).body.body.output, 'next')
})

test('Lost runs: a run that makes progress between deaths is resumed, however often its process dies', async (t) => {
  let arrived = Promise.withResolvers<void>()
  let isLast = false
  let rounds = 0
  /** Each process life adds a calculation. */
  const script: ModelScript = ({ body }) => {
    const results = body.messages.filter(({ role }: { role: string }) => role === 'tool').length
    if (isLast) return { text: `after ${results}` }
    if (results <= rounds) return { calls: [{ name: 'calculator', arguments: '{"expression":"1+1"}' }] }
    arrived.resolve()
    return silent
  }
  const start = await setUp(t, script)
  let service = await start()
  await sendEvent(service.client, event('e', ask('go')), { 'request-id': 'r' })
  while (rounds < 4) {
    await arrived.promise
    arrived = Promise.withResolvers()
    await kill(service)
    rounds++
    isLast = rounds === 4
    service = await start()
  }
  const { body } = await until(
    () => service.client.run('r'),
    ({ body: run }) => run.status !== 'pending' && run.status !== 'running',
  )
  assert.deepEqual({ status: body.status, output: body.outcome.output }, { status: 'success', output: 'after 4' })
})

test('Lost runs: a process that stops cleanly hands over its runs, and the runs lose no progress', async (t) => {
  let calls = 0
  const service = await startService(t, { script: () => (++calls > 8 ? { text: 'done' } : silent) })
  await sendEvent(service.client, event('e', ask('go')), { 'request-id': 'async' })
  void service.client.chat({ ...ask('go'), on_disconnect: 'continue' }, { 'request-id': 'sync' }).catch(() => undefined)
  for (const expected of [2, 4, 6, 8]) {
    await until(
      async () => calls,
      (count) => count >= expected,
    )
    await service.restart()
  }
  for (const id of ['async', 'sync']) {
    const { body } = await until(
      () => service.client.run(id),
      ({ body: run }) => run.status !== 'pending' && run.status !== 'running',
    )
    assert.equal(body.status, 'success', id)
  }
})
