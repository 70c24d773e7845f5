import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { callsIn, decide } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'

/** Target of a writing tool, which counts the writes. The first call hangs on request. */
async function startTarget(t: TestContext, { hangs = false } = {}) {
  const bodies: string[] = []
  const entered = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      bodies.push(body)
      entered.resolve()
      if (!hangs) response.end('written')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`, bodies, entered: entered.promise }
}

async function start(t: TestContext, target: { url: string }) {
  const folder = await makeFolder(t)
  const model = await startModelServer(({ body }: ModelServerRequest): ModelAnswer => {
    const { role, content } = body.messages.at(-1)
    if (role === 'tool') return { text: `The tool said: ${content.slice(0, 60)}` }
    const input = { method: 'POST', url: target.url, body: 'one order' }
    return { text: 'I order.', calls: [{ name: 'http_request', arguments: JSON.stringify(input) }] }
  })
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  const config = { llms: { primary }, tools: [{ name: 'http_request' }], approvals: { effects: ['write'] } }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify(config))
  const environment = { OUTBOUND_ALLOW: '127.0.0.1' }
  const again = () => serve(t, folder, environment)
  return { first: await again(), again }
}

const ids = { 'request-id': 'r1', 'session-id': 's1' }
const ask = 'Order one.'

async function kill({ child, ended }: Awaited<ReturnType<typeof serve>>): Promise<void> {
  child.kill('SIGKILL')
  assert.equal(await ended, 'SIGKILL')
}

test('a run that waits for approval survives kill -9: a decision after the restart resumes the run, and its call runs once', async (t) => {
  const target = await startTarget(t)
  const { first, again } = await start(t, target)
  const waiting = await first.client.chat(ask, ids)
  assert.equal(waiting.status, 202, waiting.text)
  const [call] = callsIn(waiting)
  await kill(first)
  const second = await again()
  const { client } = second
  assert.deepEqual((await client.chat(ask, ids)).body, waiting.body)
  assert.deepEqual(target.bodies, [])
  assert.equal((await decide(client, 'r1', call!)).status, 200)
  const answer = await client.chat(ask, ids)
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.body.body.output, /The tool said: .*200/s)
  assert.deepEqual(target.bodies, ['one order'])
  await kill(second)
  const third = await again()
  assert.deepEqual((await third.client.chat(ask, ids)).body, answer.body)
  assert.equal((await decide(third.client, 'r1', call!)).status, 200)
  assert.deepEqual(target.bodies, ['one order'])
})

test('kill -9 right after the decision: the run resumes, and its call runs once or has an unknown outcome', async (t) => {
  const target = await startTarget(t)
  const { first, again } = await start(t, target)
  const [call] = callsIn(await first.client.chat(ask, ids))
  await decide(first.client, 'r1', call!)
  await kill(first)
  const { client } = await again()
  const { body } = await until(
    () => client.run('r1'),
    (run) => run.body.ended_at !== null,
  )
  assert.equal(body.status, 'success')
  const isKnown = !/unknown/.test(body.outcome.output)
  assert.ok(isKnown ? target.bodies.length === 1 : target.bodies.length <= 1, body.outcome.output)
})

test('kill -9 during an approved call: the call is not repeated, and the model learns that its outcome is unknown', async (t) => {
  const target = await startTarget(t, { hangs: true })
  const { first, again } = await start(t, target)
  const [call] = callsIn(await first.client.chat(ask, ids))
  await decide(first.client, 'r1', call!)
  await target.entered
  await kill(first)
  const { client } = await again()
  const { body } = await until(
    () => client.run('r1'),
    (run) => run.body.ended_at !== null,
  )
  assert.match(body.outcome.output, /outcome of this call is unknown/)
  assert.deepEqual(target.bodies, ['one order'])
})
