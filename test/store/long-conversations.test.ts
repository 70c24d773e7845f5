import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'
import path from 'node:path'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

/** Chat, "memory": the transcript is fitted to the window, and turn 1,000 costs what turn 20 costs. */

const memory = { history_tokens: 2000 }
const isSummary = ({ body }: ModelServerRequest) =>
  body.messages[0].role === 'system' && body.messages[0].content.includes('You keep the summary')
const charactersOf = ({ body }: ModelServerRequest) =>
  body.messages.reduce((sum: number, { content }: { content: string | null }) => sum + (content?.length ?? 0), 0)

/** Polls what no answer tells of: the place of a session's window. */
async function untilWindow(
  { settings }: TestService,
  session: string,
  isThere: (start: number) => boolean,
): Promise<{ start: number; summary: any }> {
  const database = new DatabaseSync(path.join(settings.dataDir, 'agent-core.db'), { readOnly: true })
  try {
    for (let look = 0; look < 500; look++) {
      const row = database.prepare('select window_start as start, summary from sessions where session_id = ?').get(session) as any
      if (isThere(row.start)) return { start: row.start, summary: JSON.parse(row.summary) }
      await sleep(10)
    }
    throw new Error('The window did not move.')
  } finally {
    database.close()
  }
}

test('Sessions: after many turns the embedded model still knows the first turn, and message indexes are unchanged', async (t) => {
  const service = await startService(t, { config: { memory: { history_tokens: 32_000 } } })
  const { client } = service
  const ids = { 'session-id': 's' }
  await client.chat('My dog is called Rex.', ids)
  for (let turn = 1; turn < 100; turn++) assert.equal((await client.chat(`I have ${turn} apples.`, ids)).status, 200)
  const { start, summary } = await untilWindow(service, 's', (at) => at > 100)
  assert.match(summary.text, /^- User: My dog is called Rex\./)
  const { body } = await client.chat('What is my dog called?', ids)
  assert.match(body.body.output, /My dog is called Rex/)
  const { messages } = (await client.session('s')).body
  assert.equal(messages.length, 202)
  assert.equal(messages[start].content, `I have ${start / 2} apples.`)
})

test('Sessions: the context per turn stays bounded, the summary is stable between moves of the window, and the first system message is kept', async (t) => {
  let summaries = 0
  const service = await startService(t, {
    config: { memory, instructions: 'Be kind.' },
    script: (request) => (isSummary(request) ? { text: `Summary ${++summaries} of it.` } : { text: `Fine. ${'a '.repeat(40)}` }),
  })
  const { client, model } = service
  const ids = { 'session-id': 's' }
  const brought = [
    { role: 'system', content: 'Speak French.' },
    { role: 'user', content: 'Bonjour.' },
  ]
  await client.chat({ messages: brought }, ids)
  for (let turn = 1; turn < 150; turn++) await client.chat(`Turn ${turn}. ${'b '.repeat(40)}`, ids)
  await untilWindow(service, 's', (at) => at > 200)
  await client.chat('The last.', ids)
  const chats = model.requests.filter((request) => !isSummary(request))
  const sizes = chats.map(charactersOf)
  assert.equal(chats.length, 151)
  assert.ok(Math.max(...sizes) <= memory.history_tokens * 4 + 500, `${Math.max(...sizes)}`)
  // How many depends on how far the jobs are behind the chats.
  assert.ok(summaries >= 3 && summaries < 40, `${summaries}`)
  const systems = chats.map(({ body }) => body.messages[0].content as string)
  assert.ok(systems.every((system) => system.startsWith('Be kind.\n\nSpeak French.')))
  // A chat that comes before the job is done is told in short what has no room.
  const changes = systems.filter((system, at) => at > 0 && system !== systems[at - 1]).length
  assert.ok(changes <= 3 * summaries, `${changes} changes`)
  assert.match(systems.at(-1)!, /\n\n# Earlier in this conversation\n[^\n]+\n> Summary \d+ of it\.$/)
  const { messages } = (await client.session('s')).body
  assert.equal(messages.length, 302)
  assert.ok(messages[298].content.startsWith('Turn 149.'))
})

test('Sessions: while the small model fails the window stays, no turn is lost and the context stays bounded', async (t) => {
  const service = await startService(t, {
    config: { memory },
    script: (request) => (isSummary(request) ? { status: 401, body: 'no' } : { text: `Fine. ${'a '.repeat(40)}` }),
  })
  const { client, model } = service
  await client.chat('My name is Ann.', { 'session-id': 's' })
  for (let turn = 1; turn < 60; turn++) await client.chat(`Turn ${turn}. ${'b '.repeat(40)}`, { 'session-id': 's' })
  const { start } = await untilWindow(service, 's', () => true)
  assert.equal(start, 0)
  assert.ok(charactersOf(model.requests.at(-1)!) <= memory.history_tokens * 4 + 500)
  // Told in short: what has no room is in no summary yet.
  const last = model.requests.findLast((request) => !isSummary(request))!
  assert.match(last.body.messages[0].content, /My name is Ann/)
  assert.equal(model.requests.filter(isSummary).length, 1)
  assert.ok(service.log.some((line) => line.includes('summary failed')))
  assert.ok(!service.log.some((line) => line.includes('My name is Ann')))
})

test('Sessions: a pending summary is made after a restart', async (t) => {
  let isUp = false
  const service = await startService(t, {
    config: { memory },
    script: (request) => {
      if (!isSummary(request)) return { text: 'Fine.' }
      return isUp ? { text: 'All of it.' } : { silentAfter: 0 }
    },
  })
  for (let turn = 0; turn < 41; turn++) await service.client.chat(`Turn ${turn}.`, { 'session-id': 's' })
  isUp = true
  await service.restart()
  const { start, summary } = await untilWindow(service, 's', (at) => at > 0)
  assert.deepEqual({ start, summary }, { start: 42, summary: { text: 'All of it.' } })
})

test('Sessions: tool calls of a long run stay within the window, each with its result', async (t) => {
  const service = await startService(t, {
    config: { memory: { history_tokens: 8000 } },
    tools: [fakeTool('look', async () => 'x'.repeat(8000))],
    script: (_, index) => (index < 12 ? callOf('look') : { text: 'Done.' }),
  })
  const { body } = await service.client.chat('Go.', { 'session-id': 's' })
  assert.equal(body.body.output, 'Done.')
  const last = service.model.requests.at(-1)!
  const results = last.body.messages.filter(({ role }: { role: string }) => role === 'tool')
  assert.equal(results.length, 12)
  assert.ok(charactersOf(last) <= 8000 * 4)
  assert.match(results[0].content, /\[old output, cut\]$/)
  assert.ok(results.at(-1).content.length >= 8000)
})

test('Sessions: turns sent by a client are all shown at first; later reads are limited to a few windows', async (t) => {
  const { client, model } = await startService(t, {
    script: (request) => (isSummary(request) ? { silentAfter: 0 } : { text: 'Fine.' }),
  })
  const turns = Array.from({ length: 200 }, (_, turn) => [
    { role: 'user', content: `Question ${turn}?` },
    { role: 'assistant', content: `Answer ${turn}.` },
  ])
  const messages = [{ role: 'system', content: 'Speak French.' }, ...turns.flat(), { role: 'user', content: 'And now?' }]
  await client.chat({ messages }, { 'session-id': 's' })
  await client.chat('Still there?', { 'session-id': 's' })
  const [first, second] = model.requests.filter((request) => !isSummary(request)).map(({ body }) => body.messages)
  assert.deepEqual([first.length, first[0].content, first[1].content], [402, 'Speak French.', 'Question 0?'])
  assert.deepEqual([second.length, second[0].content, second.at(-1).content], [322, 'Speak French.', 'Still there?'])
})
