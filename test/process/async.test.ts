import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { startReceiver, verify } from '../fixtures/callback-receiver.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, runCommand, serve } from '../fixtures/process.ts'

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const message = (content: string) => ({ messages: [{ role: 'user', content }] })

test('kill -9 between the acknowledgement and the callback: every run resumes from its checkpoint, and every callback is delivered', async (t) => {
  const folder = await makeFolder(t)
  const receiver = await startReceiver(t)
  let isSilent = true
  const calculated: string[] = []
  /** Requests a calculation, then stays silent until the process is killed. */
  function script({ body }: ModelServerRequest): ModelAnswer {
    const asked = body.messages.findLast((one: { role: string }) => one.role === 'user').content as string
    if (body.messages.at(-1).role !== 'tool') {
      calculated.push(asked)
      return { calls: [{ name: 'calculator', arguments: '{"expression":"1+1"}' }] }
    }
    return isSilent ? { silentAfter: 0 } : { text: `answer to ${asked}` }
  }
  const model = await startModelServer(script)
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  const config = { llms: { primary }, tools: [{ name: 'calculator' }], limits: { async_concurrency: 2 } }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify(config))
  const environment = { OUTBOUND_ALLOW: receiver.host, CALLBACK_SECRET: secret, CALLBACK_RETRY_SECONDS: '1' }

  const first = await serve(t, folder, environment)
  const send = (id: string, client = first.client) =>
    sendEvent(client, event(id, { ...message(id), callback_url: receiver.url }), { 'request-id': id, 'session-id': id[0]! })
  // Two runs are running; the third waits for a session, the fourth for a worker.
  const ids = ['a1', 'b1', 'a2', 'c1']
  const acknowledged = []
  for (const id of ids) acknowledged.push((await send(id)).body)
  await until(
    async () => model.requests.length,
    (count) => count >= 4,
  )
  first.child.kill('SIGKILL')
  assert.equal(await first.ended, 'SIGKILL')
  isSilent = false

  const { client } = await serve(t, folder, environment)
  await receiver.reaches(4)
  const told = receiver.received.map(
    (received) => verify(secret, received) as { id: string; type: string; data: { body: { output: string } } },
  )
  assert.deepEqual(told.map(({ id }) => id).sort(), [...ids].sort())
  for (const { id, type, data } of told)
    assert.deepEqual({ type, output: data.body.output }, { type: 'ai.service.agent.chain.completed', output: `answer to ${id}` })
  // Model calls made before the kill were not repeated.
  assert.deepEqual([...calculated].sort(), [...ids].sort())
  const again = []
  for (const id of ids) again.push((await send(id, client)).body)
  assert.deepEqual(again, acknowledged)
  const { messages } = (await client.session('a')).body
  assert.deepEqual(
    messages.map(({ content }: { content: string }) => content),
    ['a1', 'answer to a1', 'a2', 'answer to a2'],
  )
  for (const id of ids)
    await until(
      async () => (await client.run(id)).body,
      (run) => run.callback.status === 'delivered',
    )
  assert.equal(receiver.received.length, 4)
})

test('SIGTERM leaves queued runs to the next start, and lets active runs finish', async (t) => {
  const folder = await makeFolder(t)
  const entered = Promise.withResolvers<void>()
  const model = await startModelServer(() => (entered.resolve(), { text: ['so', 'on'], delayMs: 300 }))
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary }, limits: { async_concurrency: 1 } }))
  const first = await serve(t, folder)
  for (const id of ['first', 'second']) await sendEvent(first.client, event(id, message(id)), { 'request-id': id })
  await entered.promise
  first.child.kill('SIGTERM')
  assert.equal(await first.ended, 0)
  assert.equal(model.requests.length, 1)
  const { client } = await serve(t, folder)
  assert.equal((await client.run('first')).body.status, 'success')
  await until(
    async () => (await client.run('second')).body,
    ({ status }) => status === 'success',
  )
  assert.equal(model.requests.length, 2)
})

test('keys callback-secret prints the secret that signs the callbacks of a tenant', async (t) => {
  const folder = await makeFolder(t)
  const receiver = await startReceiver(t)
  const { client } = await serve(t, folder, { OUTBOUND_ALLOW: receiver.host })
  const printed = runCommand(t, folder, ['keys', 'callback-secret'])
  assert.equal(await printed.ended, 0)
  await sendEvent(client, event('e', { ...message('1 + 2?'), callback_url: receiver.url }))
  verify(printed.stdout().trim(), await receiver.reaches(1))
})
