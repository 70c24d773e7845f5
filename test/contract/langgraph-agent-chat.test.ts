import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, type Message } from '@langchain/langgraph-sdk'
import { sending, sendTo } from '../fixtures/approvals.ts'
import { makeImage } from '../fixtures/make-images.ts'
import { makePdf } from '../fixtures/make-documents.ts'
import { readingModel, shownTo } from '../fixtures/reading-model.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'

/** The requests of langchain-ai/agent-chat-ui, field by field. */

interface Values {
  messages: Message[]
}

async function start(t: { after(work: () => unknown): void }, options: ServiceOptions) {
  const service = await startService(t, options)
  const { key } = await service.key()
  const apiUrl = `${service.url}/langgraph`
  const client = new Client({
    apiUrl,
    apiKey: key,
    defaultHeaders: { 'X-Auth-Scheme': 'langsmith-api-key' },
    callerOptions: { maxRetries: 0 },
  })
  return { client, key, apiUrl }
}

/** The options of `stream.submit`, with what `useStream` adds to them. */
const submitted = {
  streamMode: ['values' as const, 'custom' as const],
  streamSubgraphs: true,
  streamResumable: true,
  onDisconnect: 'continue' as const,
}

async function submit(client: Client, threadId: string, input: unknown, options: object = submitted): Promise<Values> {
  let values: Values | undefined
  for await (const { event, data } of client.runs.stream(threadId, 'agent', { input: input as never, ...options })) {
    assert.notEqual(event, 'error', JSON.stringify(data))
    if (event === 'values') values = data as unknown as Values
  }
  return values!
}

test('LangGraph: Agent Chat UI connects, lists its threads by assistant, and asks with pictures and PDF files', async (t) => {
  const model = readingModel('application/pdf')
  const { client, key, apiUrl } = await start(t, { agentModel: model })
  const info = await fetch(`${apiUrl}/info`, { headers: { 'X-Api-Key': key, 'X-Auth-Scheme': 'langsmith-api-key' } })
  assert.equal(info.status, 200)
  const { thread_id: threadId } = await client.threads.create({ metadata: undefined as never })
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image', mimeType: 'image/png', data: (await makeImage('png')).toString('base64'), metadata: { name: 'dot.png' } },
    {
      type: 'file',
      mimeType: 'application/pdf',
      data: makePdf(['The pump needs oil.']).toString('base64'),
      metadata: { filename: 'pump.pdf' },
    },
  ]
  const message = { id: '5c0f0b9e-58cf-4ba5-a4b2-1a87f6f1cc2b', type: 'human', content }
  await submit(client, threadId, { messages: [message], context: { artifact: { title: 'Pump' } } })
  const [shown] = shownTo(model)
  assert.deepEqual([shown!.images, shown!.files], [1, ['pump.pdf application/pdf']])
  const [assistant] = await client.assistants.search()
  for (const metadata of [{ graph_id: 'agent' }, { assistant_id: assistant!.assistant_id }]) {
    const threads = await client.threads.search({ metadata, limit: 100 })
    assert.deepEqual(
      threads.map(({ values }) => (values as unknown as Values).messages[0]!.content),
      ['What is this?'],
    )
  }
  // Bytes are not kept in the thread, so the page sends them again.
  const { checkpoint } = (await client.threads.getHistory<Values>(threadId)).find(({ next }) => next[0] === 'agent')!
  await assert.rejects(client.runs.wait(threadId, 'agent', { input: null, checkpoint }), { status: 422, message: /images or files/ })
})

test('LangGraph: Agent Chat UI decides in its inbox, and its notes on calls change nothing', async (t) => {
  const { sent, tool } = sending()
  const script = [
    sendTo('Bob'),
    { text: 'Sent.' },
    sendTo('Eve'),
    { text: 'Not sent.' },
    sendTo('Mia'),
    { text: 'Sent to Rob.' },
    { text: 'Bye.' },
  ]
  const { client } = await start(t, { script, tools: [tool] })
  const { thread_id: threadId } = await client.threads.create()
  const human = (content: string) => ({ messages: [{ type: 'human', content: [{ type: 'text', text: content }] }] })
  const decide = (decision: object) =>
    submit(
      client,
      threadId,
      {},
      { command: { resume: { decisions: [decision] } }, streamMode: ['values', 'custom'], onDisconnect: 'cancel' },
    )
  await submit(client, threadId, human('Write to Bob.'))
  const [interrupt] = (await client.threads.getHistory(threadId))[0]!.tasks[0]!.interrupts as { value: Record<string, object[]> }[]
  assert.deepEqual(interrupt!.value, {
    action_requests: [{ name: 'send', args: { to: 'Bob' }, description: 'Approve the call of send?' }],
    review_configs: [{ action_name: 'send', allowed_decisions: ['approve', 'edit', 'reject'] }],
  })
  assert.equal((await decide({ type: 'approve' })).messages.at(-1)!.content, 'Sent.')
  await submit(client, threadId, human('Write to Eve.'))
  assert.equal((await decide({ type: 'reject', message: 'Not her.' })).messages.at(-1)!.content, 'Not sent.')
  await submit(client, threadId, human('Write to Mia.'))
  await decide({ type: 'edit', edited_action: { name: 'send', args: { to: 'Rob' } } })
  assert.deepEqual(sent, [{ to: 'Bob' }, { to: 'Rob' }])
  // The page answers open calls of a message itself. Results of tools are the service's own.
  const note = { type: 'tool', tool_call_id: 'c1', id: 'do-not-render-1', name: 'send', content: 'Successfully handled tool call.' }
  const values = await submit(client, threadId, { messages: [note, ...human('Bye.').messages] })
  assert.ok(!JSON.stringify(values).includes(note.content))
  assert.deepEqual([values.messages.at(-2)!.content, values.messages.at(-1)!.content], ['Bye.', 'Bye.'])
})
