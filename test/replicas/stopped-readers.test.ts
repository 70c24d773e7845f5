import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { callsIn, decide, sendTo, sending } from '../fixtures/approvals.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import type { OpenStream, StreamEvent } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** Two services on a shared database, and a third one that is to stop. */
async function startThree(t: TestContext, options: ServiceOptions) {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const start = () => startService(t, { ...options, environment })
  return { holder: (await start()).client, other: (await start()).client, stopped: await start() }
}

const ids = { 'request-id': 'r1', 'session-id': 's1' }

/** Takes the chunk of the process that stops off the events, and checks that the chunk has the id of the last event. */
async function restOfStopped(stream: OpenStream, lastId?: string): Promise<StreamEvent[]> {
  const events = await stream.rest()
  const failed = events.pop()!
  assert.deepEqual(
    { reason: failed.chunk.finish_reason, status: failed.chunk.error?.status_code, id: failed.id },
    { reason: 'error', status: 503, id: events.at(-1)?.id ?? lastId },
  )
  return events
}

test('a reader on a replica that stops resumes elsewhere with the id of the failure, and gets each event once', async (t) => {
  const script = () => ({ text: Array.from({ length: 100 }, (_, n) => `${n} `), pauseMs: 20 })
  const { holder, other, stopped } = await startThree(t, { script })
  const whole = await holder.stream('Count.', ids)
  const begun = [(await whole.next())!]
  const reader = await stopped.client.follow('r1')
  const seen = [(await reader.next())!, (await reader.next())!]
  await stopped.close(0)
  seen.push(...(await restOfStopped(reader, seen.at(-1)!.id)))
  const resumed = await other.follow('r1', seen.at(-1)!.id)
  seen.push(...(await resumed.rest()))
  begun.push(...(await whole.rest()))
  assert.deepEqual(seen, begun)
})

test('a reader that waits for an approval on a replica that stops resumes elsewhere, and gets the first event after the decision', async (t) => {
  const { tool } = sending()
  const script: ServiceOptions['script'] = ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'done' } : sendTo('A'))
  const { holder, other, stopped } = await startThree(t, { script, tools: [tool] })
  const [call] = callsIn(await holder.chat('Go.', ids))
  const log = await (await holder.follow('r1')).rest()
  const waiting = await stopped.client.follow('r1', log.at(-1)!.id)
  await stopped.close(0)
  assert.deepEqual(await restOfStopped(waiting, log.at(-1)!.id), [])
  assert.equal((await decide(holder, 'r1', call!)).status, 200)
  const rest = await (await other.follow('r1', log.at(-1)!.id)).rest()
  const numbers = rest.map(({ id }) => Number(id.split(':').at(-1)))
  assert.deepEqual(
    numbers,
    rest.map((_, index) => log.length + 1 + index),
  )
  assert.equal(rest.at(-1)!.chunk.finish_reason, 'stop')
})

test('the reader of a chat whose own process stops resumes elsewhere, and gets the rest of the run that was handed over', async (t) => {
  const script = () => ({ text: Array.from({ length: 50 }, (_, n) => `${n} `), pauseMs: 20 })
  const { other, stopped } = await startThree(t, { script })
  const chat = await stopped.client.stream('Count.', ids)
  let seen = [(await chat.next())!, (await chat.next())!]
  await stopped.close(0)
  seen.push(...(await restOfStopped(chat, seen.at(-1)!.id)))
  const rest = await (await other.follow('r1', seen.at(-1)!.id)).rest()
  // The run had no checkpoint, so the other process begins the answer again.
  assert.deepEqual({ id: rest[0]!.id, label: rest[0]!.chunk.agent_step }, { id: 'r1:0', label: 'retrying' })
  seen = rest.slice(1)
  assert.deepEqual(seen, await (await other.follow('r1')).rest())
  assert.equal(seen.at(-1)!.chunk.finish_reason, 'stop')
})
