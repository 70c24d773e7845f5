import type { TestContext } from 'node:test'
import type { ModelScript } from '../fixtures/model-server.ts'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { sending, sendTo } from '../fixtures/approvals.ts'
import { startReceiver } from '../fixtures/callback-receiver.ts'
import type { Client } from '../fixtures/service-client.ts'
import type { TestService, Who } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'
import { startConsoleService } from './browser-fixture.ts'

/** The caller whose data is on every screen. */
export const ann: Who = { sub: 'ann', roles: ['admin'] }

/** Run of a chat with a tool, an answer in Markdown and a file. */
export const exampleRun = 'run-with-tool'
export const exampleSession = 'session-with-tool'

const usage = { input: 1200, output: 300, cached: 400 }
const answer =
  '## Sales\n\n| Region | Sales |\n|---|---|\n| North | 12 |\n| South | 30 |\n\n```sql\nselect 1\n```\n\n[Source](https://example.org)'

const script: ModelScript = ({ body: { messages } }) => {
  if (String(messages[0].content).includes('memory of an assistant'))
    return { text: '[{"kind":"fact","content":"The user lives in Rome."}]' }
  const results = messages.slice(messages.findLastIndex(({ role }: { role: string }) => role === 'user') + 1)
  const question = String(messages.findLast(({ role }: { role: string }) => role === 'user').content)
  if (question.includes('sales') && results.length === 0)
    return { ...callOf('look', { at: 'sales' }), reasoning: 'I must look it up.', usage }
  if (question.includes('sales') && results.length === 2)
    return { ...callOf('write_file', { file_name: 'sales.csv', content: 'a,b\n1,2\n' }), usage }
  if (question.includes('letter') && results.length === 0) return sendTo('Bob')
  if (question.includes('impossible')) return { status: 400, body: { error: { message: 'This model cannot do it.' } } }
  return { text: answer, usage }
}

const budgets = [{ name: 'caller-day', scope: 'caller', window: 'day', limit: { tokens: 1_000_000 } }]

/** Starts a service in which every screen has something to show. */
export async function startWithData(t: TestContext): Promise<TestService> {
  const receiver = await startReceiver(t)
  const service = await startConsoleService(t, {
    script,
    tools: [sending().tool, fakeTool('look', async () => ({ north: 12, south: 30 }))],
    config: { name: 'Sales agent', tools: [{ name: 'calculator' }, { name: 'write_file' }], sub_agents: { max: 3 }, budgets },
    environment: { OUTBOUND_ALLOW: receiver.host },
  })
  const client = await service.as(ann)
  await createSchedule(client)
  await Promise.all([askAll(client), callBack(client, receiver.url), createSubAgent(client)])
  await createDataset(client)
  await client.request('POST', '/core/v1/keys', { body: { sub: 'carol', roles: ['viewer'] } })
  await until(
    () => client.request('GET', '/core/v1/memories'),
    ({ body }) => body.memories.length > 0,
  )
  return service
}

async function askAll(client: Client): Promise<void> {
  await client.chat('How are the sales?', { 'request-id': exampleRun, 'session-id': exampleSession })
  await client.chat({ messages: [{ role: 'user', content: 'I live in Rome.' }], auto_memory_retain: true })
  await client.chat('Send Bob a letter.', { 'session-id': 'session-with-approval' })
  await client.chat('Do the impossible.', { 'request-id': 'failed-run' })
}

async function callBack(client: Client, callback_url: string): Promise<void> {
  await sendEvent(client, event('delivered', { messages: [{ role: 'user', content: 'Call me back.' }], callback_url }))
  await until(
    () => client.request('GET', '/core/v1/callbacks'),
    ({ body }) => body.callbacks[0]?.status === 'delivered',
  )
}

async function createSubAgent(client: Client): Promise<void> {
  const researcher = { name: 'researcher', description: 'Finds things.', objective: 'Find what is asked.', tools: ['calculator'] }
  await client.request('POST', '/core/v1/chain/sub_agents', { body: { ...researcher, workflow_type: 'react' } })
}

async function createDataset(client: Client): Promise<void> {
  const { body } = await client.request('POST', '/core/v1/datasets', { body: { name: 'core', description: 'What must not break' } })
  await client.request('POST', `/core/v1/datasets/${body.id}/examples`, { body: { from_run: { request_id: exampleRun } } })
}

async function createSchedule(client: Client): Promise<void> {
  const request = { messages: [{ role: 'user', content: 'Write the report.' }] }
  const body = { name: 'Morning report', cron: '0 8 * * 1-5', timezone: 'Asia/Kolkata', request }
  const { body: created } = await client.request('POST', '/core/v1/schedules', { body })
  await client.request('POST', `/core/v1/schedules/${created.id}/trigger`)
}
