import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { stringify } from 'yaml'
import { until } from '../fixtures/async-client.ts'
import { startModelServer, type ModelAnswer, type ModelServer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { makeFolder, serve, type RunningService } from '../fixtures/process.ts'
import type { Chunk, StreamEvent } from '../fixtures/service-client.ts'
import { scripted } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

/** Three processes on a shared database. Clean-up at the end of the file runs in reverse order. */
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
let server: PostgresServer
let model: ModelServer
let url: string
let a: RunningService
let b: RunningService
let c: RunningService

before(async () => {
  server = await startPostgres()
  file.after(() => server.stop())
  model = await startModelServer(answer)
  file.after(() => model.close())
  url = await server.createDatabase()
  ;[a, b, c] = (await Promise.all([1, 2, 3].map(start))) as [RunningService, RunningService, RunningService]
})
after(async () => {
  for (const end of ends) await end()
})

async function start(): Promise<RunningService> {
  const folder = await makeFolder(file)
  const config = { llms: { primary: scripted(model) }, tools: [{ name: 'write_file' }] }
  await writeFile(path.join(folder, 'agent.yaml'), stringify(config))
  return serve(file, folder, { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) })
}

/** Script `count 40 every 20`. With `write first`, the model first calls a tool, and each call must run once. */
function answer({ body }: ModelServerRequest): ModelAnswer {
  const text: string = body.messages.findLast((message: { role: string }) => message.role === 'user').content
  if (text.startsWith('write first') && body.messages.at(-1).role === 'user')
    return callOf('write_file', { file_name: 'a.txt', content: 'a' })
  const [, pieces, pauseMs] = /count (\d+) every (\d+)/.exec(text) ?? []
  return { text: Array.from({ length: Number(pieces) }, (_, n) => `${n} `), pauseMs: Number(pauseMs) }
}

const ids = (id: string) => ({ 'request-id': id, 'session-id': `of ${id}`.replace(' ', '-') })
const numberOf = ({ id }: StreamEvent) => Number(id.split(':').at(-1))
const textOf = (chunks: Chunk[]) => chunks.flatMap(({ agent_step, token }) => (agent_step === 'answer' ? [token] : [])).join('')
const counted = (upTo: number) => Array.from({ length: upTo }, (_, n) => `${n} `).join('')

/** Checks that event numbers rise by 1, go back only at a `retrying` chunk, and end with a single last chunk. Returns the text after the last `retrying`. */
function readWhole(events: StreamEvent[], after = 0): string {
  let at = after
  let from = 0
  for (const [place, event] of events.entries()) {
    if (event.chunk.agent_step === 'retrying') {
      assert.ok(numberOf(event) <= at, 'it goes back')
      at = numberOf(event)
      from = place
    } else assert.equal(numberOf(event), ++at)
    assert.equal(event.chunk.finish_reason !== 'null', place === events.length - 1, 'exactly one end')
  }
  return textOf(events.slice(from).map(({ chunk }) => chunk))
}

async function query(text: string): Promise<any[]> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

const cutConnections = () =>
  query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()')

test('a run of one replica is read from the second, from its start and from its middle, and cancelled from the third', async () => {
  const stream = await a.client.stream('count 2000 every 20', ids('r1'))
  const told = [(await stream.next())!]
  const whole = await b.client.follow('r1')
  while (told.length < 20) told.push((await stream.next())!)
  const middle = await b.client.follow('r1', 'r1:10')
  const read = [await whole.next(), await middle.next()]
  const cancelled = await c.client.request('DELETE', '/core/v1/runs/r1')
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled'])
  told.push(...(await stream.rest()))
  const [first, second] = [
    [read[0]!, ...(await whole.rest())],
    [read[1]!, ...(await middle.rest())],
  ]
  assert.equal(readWhole(told), readWhole(first))
  assert.deepEqual(first, told)
  assert.deepEqual(second, told.slice(10))
  assert.equal(told.at(-1)!.chunk.finish_reason, 'cancelled')
})

test('a message that another replica has accepted reaches the run', async () => {
  const stream = await a.client.stream('count 40 every 30', ids('steered'))
  await stream.next()
  const sent = await b.client.request('POST', '/core/v1/runs/steered/messages', { body: { message: 'count 3 every 1' } })
  assert.equal(sent.status, 202, sent.text)
  const chunks = (await stream.rest()).map(({ chunk }) => chunk)
  const place = chunks.findIndex(({ agent_step }) => agent_step === 'user_message')
  assert.equal(textOf(chunks.slice(place)), counted(3))
  const { messages } = (await c.client.request('GET', '/core/v1/runs/steered/messages')).body
  assert.deepEqual([place > 0, messages.length, messages[0].delivered_to], [true, 1, 'steered'])
})

test('fifty streams continue on another replica when their readers reconnect there', async () => {
  const names = Array.from({ length: 50 }, (_, n) => `many-${n}`)
  const read = await Promise.all(
    names.map(async (name) => {
      const stream = await a.client.stream(
        { messages: [{ role: 'user', content: 'count 60 every 30' }], on_disconnect: 'continue' },
        ids(name),
      )
      const seen = [(await stream.next())!, (await stream.next())!]
      stream.leave()
      const other = await b.client.follow(name, seen.at(-1)!.id)
      return [...seen, ...(await other.rest())]
    }),
  )
  for (const events of read) assert.equal(readWhole(events), counted(60))
  await until(
    () => query('select first from run_tails'),
    (rows) => rows.length === 0,
  )
})

test('a repeat of a request waits on another replica for the answer of the first', async () => {
  const first = a.client.chat('count 20 every 50', ids('twice'))
  await until(
    () => b.client.run('twice'),
    ({ status }) => status === 200,
  )
  const second = await b.client.chat('count 20 every 50', ids('twice'))
  assert.deepEqual({ status: second.status, body: second.body }, { status: 200, body: (await first).body })
  assert.equal(second.body.body.output, counted(20))
})

test('readers on other replicas are not affected when connections to the database are cut', async () => {
  const stream = await a.client.stream('write first, count 100 every 30', ids('cut'))
  const told = [(await stream.next())!]
  const other = await b.client.follow('cut')
  const read = [(await other.next())!]
  for (let times = 0; times < 3; times++) {
    await cutConnections()
    while (read.length < 20 * (times + 1)) read.push((await other.next())!)
  }
  const [here, there] = await Promise.all([stream.rest(), other.rest()])
  assert.equal(readWhole([...told, ...here]), counted(100))
  // A link names the replica that sends it, and expires a time after it was sent.
  const withoutLinks = (events: unknown[]) => JSON.stringify(events).replaceAll(/"(download_url|expires_at)":"[^"]+",?/g, '')
  assert.equal(withoutLinks([...read, ...there]), withoutLinks([...told, ...here]))
})

test('a process suspended until it lost its run sends its readers the events of the new process', async () => {
  const stream = await b.client.stream('write first, count 200 every 30', ids('slept'))
  const read = []
  while (read.length < 10) read.push((await stream.next())!)
  b.child.kill('SIGSTOP')
  await until(
    () => query(`select fence from runs where request_id = 'slept'`),
    ([run]) => run.fence === 2,
  )
  b.child.kill('SIGCONT')
  read.push(...(await stream.rest()))
  assert.equal(readWhole(read), counted(200))
  const { body } = await c.client.run('slept')
  assert.deepEqual({ status: body.status, stepCount: body.outcome.intermediate_steps.length }, { status: 'success', stepCount: 1 })
})

test('a run whose process is killed resumes on another replica, and its reader continues after the last checkpoint', async () => {
  const stream = await a.client.stream('write first, count 200 every 30', ids('killed'))
  await stream.next()
  const other = await b.client.follow('killed')
  const read = []
  while (read.length < 10) read.push((await other.next())!)
  a.child.kill('SIGKILL')
  read.push(...(await other.rest()))
  assert.equal(readWhole(read), counted(200))
  const backs = read.filter(({ chunk }) => chunk.agent_step === 'retrying').map(numberOf)
  assert.deepEqual(backs, [2], 'behind the tool call, which was not made again')
  const { body } = await c.client.run('killed')
  const { output, intermediate_steps: steps } = body.outcome
  assert.deepEqual({ status: body.status, output, stepCount: steps.length }, { status: 'success', output: counted(200), stepCount: 1 })
})
