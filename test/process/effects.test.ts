import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { outcomeUnknown } from '../../src/agent/history.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'
import { outputOf } from '../fixtures/service-client.ts'

/** Effects outside of the service, each with the idempotency key of the request. */
interface Till {
  url: string
  /** Last part of the path, and idempotency key, in order of arrival. */
  asked: { what: string; key: string }[]
  /** Resolves when the named request arrives. The request stays unanswered until its connection breaks. */
  held(what: string): Promise<void>
}

/** External server that records requests. The first request for a held name gets no answer. */
async function startTill(t: TestContext): Promise<Till> {
  const asked: Till['asked'] = []
  const holding = new Map<string, () => void>()
  const server = createServer((request, response) => {
    const what = request.url!.slice(1)
    asked.push({ what, key: String(request.headers['idempotency-key']) })
    const hold = holding.get(what)
    holding.delete(what)
    if (hold) hold()
    else response.end(`${what} is done`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const held = (what: string) => new Promise<void>((resolve) => holding.set(what, resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, held }
}

interface Place {
  till: Till
  folder: string
  start(): Promise<RunningService>
}

/** Creates a folder with an agent that posts to the till: `pay` writes, `quote` is declared as reading, `wire` writes and needs approval. */
async function prepare(t: TestContext, script: (request: ModelServerRequest, till: Till) => ModelAnswer): Promise<Place> {
  const folder = await makeFolder(t)
  const till = await startTill(t)
  const model = await startModelServer((request) => script(request, till))
  t.after(() => model.close())
  const tool = (name: string, traits: object = {}) => ({ name, type: 'http_request', timeout: 60, ...traits })
  const tools = [tool('pay'), tool('quote', { effect: 'read' }), tool('wire', { approval: 'required' })]
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary }, tools, sub_agents: { may_create: false } }))
  return { till, folder, start: () => serve(t, folder, { OUTBOUND_ALLOW: '127.0.0.1' }) }
}

async function kill({ child, ended }: RunningService): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

const usage = { input: 10, output: 5 }
const goesOn = { messages: [{ role: 'user', content: 'go' }], on_disconnect: 'continue' }
const ids = { 'session-id': 's', 'request-id': 'r' }

const post = (name: string, till: Till, what: string) => ({
  name,
  arguments: JSON.stringify({ method: 'POST', url: `${till.url}/${what}` }),
})

function resultsOf({ body }: ModelServerRequest): string[] {
  return body.messages.filter((one: { role: string }) => one.role === 'tool').map((one: { content: string }) => one.content)
}

/** Makes all calls in a single turn, then answers with the shortened results. */
const inOneTurn =
  (...calls: [name: string, what: string][]) =>
  (request: ModelServerRequest, till: Till): ModelAnswer => {
    const results = resultsOf(request)
    if (results.length === 0) return { usage, calls: calls.map(([name, what]) => post(name, till, what)) }
    return { usage, text: results.map(toShort).join(' | ') }
  }

function toShort(result: string): string {
  if (result.includes(outcomeUnknown)) return 'unknown'
  return /\w+ is done/.exec(result)?.[0] ?? result
}

/** Resumes the run in another process and follows the run to the end. */
async function endOf({ client }: RunningService): Promise<string> {
  const events = await (await client.follow('r')).rest()
  assert.equal(events.at(-1)?.chunk.finish_reason, 'stop')
  return outputOf(events)
}

const countOf = (till: Till, what: string) => till.asked.filter((one) => one.what === what).length

test('kill -9 during a write: the write is not repeated, later writes run, and a read is repeated with its key', async (t) => {
  const script = inOneTurn(['pay', 'first'], ['pay', 'second'], ['quote', 'price'], ['pay', 'third'])
  const { till, start } = await prepare(t, script)
  const first = await start()
  const both = [till.held('second'), till.held('price')]
  const asked = first.client.chat(goesOn, ids).catch(() => undefined)
  await Promise.all(both)
  await kill(first)
  await asked
  assert.equal(await endOf(await start()), 'first is done | unknown | price is done | third is done')
  assert.deepEqual(
    ['first', 'second', 'price', 'third'].map((what) => countOf(till, what)),
    [1, 1, 2, 1],
  )
  const prices = till.asked.filter(({ what }) => what === 'price')
  assert.match(prices[0]!.key, /^[0-9a-f-]{36}$/)
  assert.equal(prices[0]!.key, prices[1]!.key)
  assert.equal(new Set(till.asked.map(({ key }) => key)).size, 4)
})

test('kill -9 while calls wait, and during an approved write: each call runs at most once, as decided', async (t) => {
  const { till, start } = await prepare(t, inOneTurn(['wire', 'one'], ['wire', 'two'], ['wire', 'three'], ['pay', 'now']))
  const first = await start()
  const waiting = await first.client.chat(goesOn, ids)
  assert.deepEqual(
    { status: waiting.status, countOf: countOf(till, 'now'), askedCount: till.asked.length },
    { status: 202, countOf: 1, askedCount: 1 },
  )
  const { calls } = waiting.body.approval_required
  const decide = (service: RunningService, at: number, more: object) =>
    service.client.request('POST', '/core/v1/runs/r/approvals', { body: { tool_call_id: calls[at].tool_call_id, ...more } })
  assert.equal((await decide(first, 0, { decision: 'approve' })).status, 200)
  await kill(first)

  const second = await start()
  assert.equal((await second.client.run('r')).body.status, 'interrupted')
  const entered = till.held('one')
  assert.equal((await decide(second, 1, { decision: 'approve' })).status, 200)
  assert.equal((await decide(second, 2, { decision: 'reject', reason: 'Not three.' })).status, 200)
  await entered
  await kill(second)

  const output = await endOf(await start())
  assert.match(output, /^unknown \| two is done \| .*rejected by a person: Not three\..* \| now is done$/s)
  assert.deepEqual(
    till.asked.map(({ what }) => what),
    ['now', 'one', 'two'],
  )
})

test('kill -9 during a write of a sub-agent, approved or not: the write is not repeated', async (t) => {
  const script = (request: ModelServerRequest, till: Till): ModelAnswer => {
    const results = resultsOf(request)
    const isSubAgent = JSON.stringify(request.body.messages[0]).includes('You are the sub-agent')
    if (!isSubAgent && results.length === 0) return { usage, calls: [{ name: 'sub_agent_clerk', arguments: '{"task":"pay"}' }] }
    if (!isSubAgent) return { usage, text: results[0]! }
    const next = [post('pay', till, 'fee'), post('wire', till, 'sum'), post('pay', till, 'tip')][results.length]
    return { usage, ...(next ? { calls: [next] } : { text: results.map(toShort).join(' | ') }) }
  }
  const { till, start } = await prepare(t, script)
  const first = await start()
  const made = await first.client.request('POST', '/core/v1/chain/sub_agents', { body: { name: 'clerk', tools: ['pay', 'wire'] } })
  assert.equal(made.status, 200, made.text)
  const inFee = till.held('fee')
  const asked = first.client.chat(goesOn, ids).catch(() => undefined)
  await inFee
  await kill(first)
  await asked

  const second = await start()
  const events = await (await second.client.follow('r')).rest()
  const last = events.at(-1)!
  assert.equal(last.chunk.finish_reason, 'approval_required')
  const [call] = last.chunk.approval_required!.calls
  const inSum = till.held('sum')
  const body = { tool_call_id: call!.tool_call_id, decision: 'approve' }
  assert.equal((await second.client.request('POST', '/core/v1/runs/r/approvals', { body })).status, 200)
  await inSum
  await kill(second)

  const third = await start()
  assert.equal(await endOf(third), 'unknown | unknown | tip is done')
  assert.deepEqual(
    till.asked.map(({ what }) => what),
    ['fee', 'sum', 'tip'],
  )
  const [clerk] = (await third.client.request('GET', '/core/v1/chain/sub_agents')).body.sub_agents
  assert.equal(clerk.status, 'ready')
  // Each step has a single start and end event, from any of the processes.
  const all = await (await third.client.follow('r')).rest()
  const steps = all.filter(({ chunk }) => chunk.agent_step === 'sub_agent:clerk').map(({ chunk }) => chunk.step?.status ?? 'starts')
  assert.deepEqual(steps, ['starts', 'success'])
})

test('kill -9 during a direct execution: the same request id does not repeat a write, and repeats a read with its key', async (t) => {
  const { till, start } = await prepare(t, () => ({ text: '' }))
  const execute = ({ client }: RunningService, name: string, what: string) =>
    client.request('POST', '/core/v1/tool/execute', {
      body: { tool_name: name, tool_input: { method: 'POST', url: `${till.url}/${what}` } },
      headers: { 'request-id': `direct-${what}` },
    })
  const first = await start()
  const entered = [till.held('bill'), till.held('rate')]
  const asked = [execute(first, 'pay', 'bill'), execute(first, 'quote', 'rate')].map((one) => one.catch(() => undefined))
  await Promise.all(entered)
  await kill(first)
  await Promise.all(asked)

  const second = await start()
  for (let again = 0; again < 2; again++) {
    const bill = await execute(second, 'pay', 'bill')
    assert.deepEqual({ status: bill.status, error_type: bill.body.details.error_type }, { status: 503, error_type: 'ProcessLost' })
    assert.match(bill.body.body, /unknown; it was not repeated/)
    const rate = await execute(second, 'quote', 'rate')
    assert.deepEqual({ status: rate.status, short: toShort(rate.text) }, { status: 200, short: 'rate is done' })
  }
  assert.deepEqual([countOf(till, 'bill'), countOf(till, 'rate')], [1, 2])
  const rates = till.asked.filter(({ what }) => what === 'rate')
  assert.equal(rates[0]!.key, rates[1]!.key)
  assert.notEqual(rates[0]!.key, till.asked.find(({ what }) => what === 'bill')!.key)
})
