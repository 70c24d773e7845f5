import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { outcomeUnknown } from '../../src/agent/history.ts'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { outputOf } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const all = '/core/v1/chain/sub_agents'
const usage = { input: 10, output: 5 }
const goesOn = { messages: [{ role: 'user', content: 'go' }], on_disconnect: 'continue' }

/** The agent delegates a task. The sub-agent runs its calls sequentially and answers with the results. */
function script(calls: ModelAnswer[]) {
  return ({ body }: ModelServerRequest): ModelAnswer => {
    const results = body.messages.filter((one: { role: string }) => one.role === 'tool').map((one: { content: string }) => one.content)
    const isSubAgent = JSON.stringify(body.messages[0]).includes('You are the sub-agent')
    if (isSubAgent) return { usage, ...(calls[results.length] ?? { text: results.join(' | ') }) }
    return { usage, ...(results.length > 0 ? { text: results[0] } : callOf('sub_agent_helper', { task: 'x' })) }
  }
}

test('a sub-agent resumes in the replacing process: completed writes stay, and writes with an unknown outcome are not repeated', async (t) => {
  const written: unknown[] = []
  const second = Promise.withResolvers<void>()
  const note = fakeTool(
    'note',
    async ({ n }) => {
      written.push(n)
      if (n !== 2) return `wrote ${String(n)}`
      second.resolve()
      return new Promise(() => {})
    },
    { effect: 'write' },
  )
  const model = script([callOf('note', { n: 1 }), callOf('note', { n: 2 }), callOf('note', { n: 3 })])
  const config = { sub_agents: { may_create: false } }
  const service = await startService(t, { script: model, config, tools: [note] })
  await service.client.request('POST', all, { body: { name: 'helper', tools: ['note'] } })
  const asked = service.client.chat(goesOn, { 'session-id': 's', 'request-id': 'r' }).catch(() => undefined)
  await second.promise
  await service.restart()
  await asked
  const events = await (await service.client.follow('r')).rest()
  assert.deepEqual(written, [1, 2, 3])
  assert.equal(outputOf(events), `wrote 1 | ${outcomeUnknown} | wrote 3`)
  // The start event published before the kill is not published again.
  assert.equal(events.filter(({ chunk }) => chunk.agent_step === 'sub_agent:helper').length, 2)
  const { outcome } = (await service.client.run('r')).body
  assert.deepEqual(
    outcome.intermediate_steps.map((step: any) => [step.tool, step.status, step.sub_agent ?? 'agent']),
    [
      ['sub_agent:helper', 'success', 'agent'],
      ['note', 'success', 'helper'],
      ['note', 'error', 'helper'],
      ['note', 'success', 'helper'],
    ],
  )
  // Each model call is counted once and was not repeated.
  assert.deepEqual({ requestCount: service.model.requests.length, usage: outcome.usage[0].usage }, { requestCount: 6, usage: 90 })
  assert.equal((await service.client.request('GET', all)).body.sub_agents[0].status, 'ready')
})

test('kill -9 during the second call of a sub-agent: the first call, a write, is not repeated', async (t) => {
  const folder = await makeFolder(t)
  const slow = 'select count(*) from big a, big b, big c, big d, big e'
  const model = await startModelServer(
    script([callOf('write_file', { file_name: 'a.txt', content: 'a' }), callOf('data', { sql: slow }), { text: 'written' }]),
  )
  t.after(() => model.close())
  const rows = Array.from({ length: 2000 }, (_, at) => at).join('\n')
  await mkdir(path.join(folder, 'files'), { recursive: true })
  await writeFile(path.join(folder, 'files', 'big.csv'), `n\n${rows}\n`)
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  const tools = [{ name: 'write_file' }, { name: 'data', type: 'data_query', timeout: 3, config: { tables: { big: 'big.csv' } } }]
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary }, tools }))
  const first = await serve(t, folder)
  // A call of a tool that is not ready would fail at once.
  const isReady = async () => (await first.client.request('GET', '/core/v1/tools')).body.tools.every((one: any) => one.status === 'ready')
  while (!(await isReady())) await pause(50)
  const made = await first.client.request('POST', all, { body: { name: 'helper', tools: ['write_file', 'data'] } })
  assert.equal(made.status, 200)
  const stream = await first.client.stream(goesOn, { 'session-id': 's', 'request-id': 'r' })
  for (;;) {
    const event = await stream.next()
    assert.ok(event, 'the second call never began')
    if (event.chunk.agent_step === 'tool:data') break
  }
  first.child.kill('SIGKILL')
  await first.ended
  await assert.rejects(stream.rest())

  const { client } = await serve(t, folder)
  const events = await (await client.follow('r')).rest()
  assert.deepEqual(
    { outputOf: outputOf(events), finish_reason: events.at(-1)?.chunk.finish_reason },
    { outputOf: 'written', finish_reason: 'stop' },
  )
  const { outcome } = (await client.run('r')).body
  const steps = outcome.intermediate_steps.map((step: any) => `${step.tool} ${step.status}`)
  assert.deepEqual(steps.toSorted(), ['data error', 'sub_agent:helper success', 'write_file success'])
  assert.deepEqual({ requestCount: model.requests.length, usage: outcome.usage[0].usage }, { requestCount: 5, usage: 75 })
  const [, answer] = (await client.session('s')).body.messages
  assert.deepEqual(
    answer.response_metadata.generated_artifacts.map((one: any) => [one.file_name, one.tool]),
    [['a.txt', 'write_file']],
  )
  const [helper] = (await client.request('GET', all)).body.sub_agents
  assert.deepEqual({ id: helper.id, status: helper.status }, { id: made.body.sub_agent_id, status: 'ready' })
})
