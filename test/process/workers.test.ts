import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startModelServer, type ModelAnswer, type ModelScript, type ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { makeFolder, runCommand, serve, type RunningService } from '../fixtures/process.ts'
import { outputOf, type Client } from '../fixtures/service-client.ts'

let postgres: PostgresServer
before(async () => void (postgres = await startPostgres()))
after(() => postgres.stop())

async function environmentOf(workers: number): Promise<Record<string, string>> {
  return { DATABASE_URL: await postgres.createDatabase(), SECRET_KEY: 'k'.repeat(40), WORKERS: String(workers) }
}

async function start(t: TestContext, workers: number, script: ModelScript) {
  const folder = await makeFolder(t)
  const model = await startModelServer(script)
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary }, tools: [{ name: 'calculator' }] }))
  const service = await serve(t, folder, await environmentOf(workers))
  return { folder, service, model }
}

/** Process ids of all workers so far, oldest first. */
async function pidsOf({ stdout }: RunningService, count: number): Promise<number[]> {
  for (;;) {
    const told = [...stdout().matchAll(/"pid":(\d+),"msg":"A worker serves"/g)].map(([, pid]) => Number(pid))
    if (told.length >= count) return told
    await sleep(50)
  }
}

/** Sends each request on a new connection, so that all workers get requests. */
async function chatAnew(client: Client, text: string, headers: Record<string, string> = {}) {
  return client.chat(text, { connection: 'close', ...headers })
}

const counted = /^agent_core_http_request_duration_seconds_count\{method="POST",route="\/core\/v1\/chain",status="200"\} (\d+)$/m

async function countChats({ client }: RunningService): Promise<{ chats: number; processes: number }> {
  const { text } = await client.request('GET', '/metrics')
  return { chats: Number(counted.exec(text)?.[1]), processes: Number(/^agent_core_processes (\d+)$/m.exec(text)?.[1]) }
}

function calculates({ body }: ModelServerRequest): ModelAnswer {
  const last = body.messages.at(-1)
  if (last.role === 'tool') return { text: `answer to ${body.messages.findLast((one: { role: string }) => one.role === 'user').content}` }
  return { calls: [{ name: 'calculator', arguments: '{"expression":"1+1"}' }] }
}

test('workers share a port, a start message, the load and the metrics; SIGTERM lets all workers finish', async (t) => {
  const entered = Promise.withResolvers<void>()
  let waiting = 0
  const { service } = await start(t, 2, ({ body }) => {
    if (body.messages.at(-1).content !== 'slow') return { text: 'quick' }
    if (++waiting === 4) entered.resolve()
    return { text: ['so', 'on'], delayMs: 300 }
  })
  const pids = await pidsOf(service, 2)
  assert.equal(new Set(pids).size, 2)
  assert.ok(!pids.includes(service.child.pid!))
  for (const line of [/listens on/g, /Read more/g]) assert.equal(service.stdout().match(line)?.length, 1)
  for (let at = 0; at < 8; at++) assert.equal((await chatAnew(service.client, 'quick')).status, 200)
  // Every worker reports the same counts, on every request.
  for (let at = 0; at < 3; at++) assert.deepEqual(await countChats(service), { chats: 8, processes: 2 })

  const chats = Array.from({ length: 4 }, () => chatAnew(service.client, 'slow'))
  await entered.promise
  service.child.kill('SIGTERM')
  for (const { body } of await Promise.all(chats)) assert.equal(body.body.output, 'soon')
  assert.equal(await service.ended, 0)
  const served = new Set([...service.stdout().matchAll(/"pid":(\d+),[^\n]*"route":"\/core\/v1\/chain"/g)].map(([, pid]) => Number(pid)))
  assert.deepEqual(served, new Set(pids))
})

test('kill -9 of a worker under load: the second worker continues, nothing is lost or done twice, and a new worker starts', async (t) => {
  const { service } = await start(t, 2, calculates)
  const [first] = await pidsOf(service, 2)
  let answered = 0
  let isKilled = false
  const enough = Promise.withResolvers<void>()

  /** Retries like a client that needs its answer. */
  async function ask(text: string, headers: Record<string, string>): Promise<string> {
    for (;;) {
      const reply = await chatAnew(service.client, text, headers).catch(() => undefined)
      if (reply?.status === 200) return reply.body.body.output
      assert.ok(reply === undefined || [502, 503, 409].includes(reply.status), reply?.text)
      await sleep(100)
    }
  }

  async function load(session: string): Promise<number> {
    for (let turn = 0; ; turn++) {
      const text = `question ${turn}`
      assert.equal(await ask(text, { 'session-id': session, 'request-id': `${session}-${turn}` }), `answer to ${text}`)
      if (++answered >= 60) enough.resolve()
      if (isKilled) return turn + 1
    }
  }
  const clients = Array.from({ length: 8 }, (_, at) => load(`s${at}`))
  await Promise.race([enough.promise, ...clients])
  process.kill(first!, 'SIGKILL')
  isKilled = true
  const turns = await Promise.all(clients)
  for (const [at, count] of turns.entries()) {
    const { messages } = (await service.client.session(`s${at}`)).body
    assert.deepEqual(
      messages.map((message: { content: string }) => message.content),
      Array.from({ length: count }, (_, turn) => [`question ${turn}`, `answer to question ${turn}`]).flat(),
    )
  }
  assert.match(service.stdout(), new RegExp(`"pid":${first},"how":"SIGKILL"`))
  assert.ok(!(await pidsOf(service, 3)).slice(2).includes(first!))
  assert.equal((await countChats(service)).processes, 2)
})

test('kill -9 of workers while connections arrive: each connection is answered or broken, and none hangs', async () => {
  const program = fileURLToPath(new URL('../fixtures/killed-workers.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [program])
  const { answered, stuck } = JSON.parse(stdout)
  assert.ok(answered > 700, stdout)
  assert.equal(stuck, 0, stdout)
})

test('counters never decrease when a worker ends, and a worker stopped by a signal is replaced', async (t) => {
  const { service } = await start(t, 2, () => ({ text: 'quick' }))
  const [first, second] = await pidsOf(service, 2)
  for (let at = 0; at < 4; at++) await chatAnew(service.client, 'quick')
  assert.equal((await countChats(service)).chats, 4)
  process.kill(first!, 'SIGKILL')
  await pidsOf(service, 3)
  assert.deepEqual(await countChats(service), { chats: 4, processes: 2 })
  // A worker that stops cleanly reports the counts since the last query.
  for (let at = 0; at < 4; at++) await chatAnew(service.client, 'quick')
  process.kill(second!, 'SIGTERM')
  await pidsOf(service, 4)
  assert.deepEqual(await countChats(service), { chats: 8, processes: 2 })
})

test('kill -9 of the supervisor: workers finish their runs and release the port', async (t) => {
  const entered = Promise.withResolvers<void>()
  const { service } = await start(t, 2, () => {
    entered.resolve()
    return { text: Array.from({ length: 20 }, () => 'x'), pauseMs: 50 }
  })
  await pidsOf(service, 2)
  const stream = await service.client.stream('go')
  await entered.promise
  service.child.kill('SIGKILL')
  await once(service.child, 'exit')
  assert.equal(outputOf(await stream.rest()), 'x'.repeat(20))
  // Standard output closes when the last worker has exited.
  assert.equal(await service.ended, 'SIGKILL')
  const refused = connect(Number(new URL(service.url).port), '127.0.0.1')
  assert.equal((await once(refused, 'error'))[0].code, 'ECONNREFUSED')
})

test('a first worker that cannot start is not retried: one line states the reason, with exit code 1', async (t) => {
  const folder = await makeFolder(t)
  const { url } = await serve(t, await makeFolder(t))
  const taken = runCommand(t, folder, ['serve'], { ...(await environmentOf(3)), PORT: new URL(url).port })
  assert.equal(await taken.ended, 1)
  assert.match(taken.stderr(), /^Cannot listen on .*PORT.*\n$/)
  assert.doesNotMatch(taken.stdout(), /listens/)
})
