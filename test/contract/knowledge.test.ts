import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai'
import OpenAI from 'openai'
import { until } from '../fixtures/async-client.ts'
import { documentsOf, type DocumentView } from '../fixtures/documents.ts'
import { makeEpub, makePdf, makePptx } from '../fixtures/make-documents.ts'
import { startService, type ServiceOptions, type Who } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const config = {
  tools: [
    { name: 'knowledge_search', config: { paths: ['handbook/**'] } },
    { name: 'other', type: 'knowledge_search' },
  ],
}
const files = { 'handbook/leave.md': '# Leave\n\nEverybody has 25 days of leave.' }

const start = (t: TestContext, options: ServiceOptions = {}) => startService(t, { script: {}, config, files, ...options })

test('Knowledge: documents of every kind are indexed, and found with the files of the operator', async (t) => {
  const service = await start(t)
  const { client, send, add, search } = await documentsOf(service)
  const sent = await send('travel rules.pdf', makePdf(['Nothing here', 'Trains are booked first class']))
  const { id, created_at, ...rest } = sent.body
  assert.deepEqual(rest, { name: 'travel rules.pdf', size: rest.size, media_type: 'application/pdf', state: 'waiting' })
  assert.ok(Date.parse(created_at) > 0)
  const deck = await add('prices.pptx', makePptx('Prices', [{ title: 'Plans', lines: ['The small plan costs 9 EUR.'] }]))
  const book = await add('novel.epub', makeEpub(['<h1>Storm</h1><p>The lighthouse went dark.</p>']))
  const scan = await add('scan.pdf', makePdf(['']))
  assert.deepEqual([deck.state, book.state, scan.state], ['ready', 'ready', 'failed'])
  assert.match(scan.error ?? '', /it has no text: it seems to be scanned/)
  const { checks } = (await client.request('GET', '/core/v1/status')).body
  const found = checks.find(({ name, status }: { name: string; status: string }) => name === 'knowledge' && status === 'warning')
  assert.equal(found?.message, 'uploaded documents that cannot be read: 1')
  assert.equal(
    (
      await until(
        () => client.request('GET', `/core/v1/knowledge/${id}`),
        ({ body }) => body.state === 'ready',
      )
    ).status,
    200,
  )
  const [train] = await search('trains first class')
  assert.deepEqual(
    { ...train, score: 0 },
    {
      file: 'travel rules.pdf',
      document_id: id,
      heading: 'Page 2',
      page: 2,
      start: 30,
      end: 59,
      text: 'Trains are booked first class',
      score: 0,
      metadata: { pages: 2 },
    },
  )
  assert.deepEqual([(await search('lighthouse'))[0]?.heading, (await search('small plan'))[0]?.page], ['Storm', 1])
  assert.equal((await search('days of leave'))[0]?.file, 'handbook/leave.md')
})

test('Knowledge: no other tenant sees a document, and only administrators change documents', async (t) => {
  const service = await start(t)
  const mine = await documentsOf(service)
  const theirs = await documentsOf(service, { tenant: 'other', roles: ['admin'] })
  const { id } = await mine.add('secret.md', 'The zebra is purple.')
  const colleague = await documentsOf(service, { sub: 'bob', roles: ['user'] })
  assert.equal((await colleague.search('zebra'))[0]?.document_id, id)
  assert.equal((await colleague.find(id)).name, 'secret.md')
  assert.equal((await colleague.remove(id)).status, 403)
  assert.equal((await colleague.send('a.md', 'x')).status, 403)
  assert.deepEqual(await theirs.search('zebra'), [])
  assert.equal((await theirs.client.request('GET', `/core/v1/knowledge/${id}`)).status, 404)
  assert.equal((await theirs.remove(id)).status, 404)
  assert.deepEqual((await theirs.client.request('GET', '/core/v1/knowledge')).body, { documents: [], offset: '', has_more: false })
  const { key } = await service.key({ roles: ['admin'] })
  const asFile = await fetch(`${service.url}/v1/files/file-${id}`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(asFile.status, 404)
})

test('Knowledge: a deleted document is not found by the next search, and its bytes are deleted', async (t) => {
  const service = await start(t)
  const { add, search, remove, client } = await documentsOf(service)
  const { id } = await add('parking.txt', 'Guests park behind the house.')
  assert.equal((await search('guests park')).length, 1)
  assert.deepEqual((await remove(id)).body, { id, status: 'deleted' })
  assert.deepEqual(await search('guests park'), [])
  assert.equal((await remove(id)).status, 404)
  assert.deepEqual((await client.request('GET', '/core/v1/knowledge')).body.documents, [])
  const artifacts = path.join(service.settings.dataDir, 'artifacts')
  await until(
    () => readdir(artifacts),
    (names) => !names.some((name) => name.startsWith('upload-')),
  )
})

test('Knowledge: data filters decide on documents by front matter, name and id, and withhold them from other tools', async (t) => {
  const service = await start(t)
  const { add, search, client } = await documentsOf(service)
  const hr = await add('hr.md', '---\ndepartment: hr\nname: it.md\n---\nThe zebra bonus is 9000.')
  await add('it.md', '---\ndepartment: it\n---\nThe zebra laptop is new.')
  const hint = (filter_key: string, filter_value: string, tool_name = 'knowledge_search') => [
    { tool_name, filter_key, filter_type: 'equals', filter_value },
  ]
  const namesFor = async (...args: Parameters<typeof hint>) => (await search('zebra', hint(...args))).map(({ file }) => file)
  assert.deepEqual(await namesFor('department', 'hr'), ['hr.md'])
  assert.deepEqual(await namesFor('name', 'it.md'), ['it.md'])
  assert.deepEqual(await namesFor('document_id', hr.id), ['hr.md'])
  assert.deepEqual(await namesFor('path', 'hr.md'), [])
  assert.deepEqual(await namesFor('department', 'hr', 'other'), [])
  const reply = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'other', tool_input: { query: 'zebra' } } })
  assert.equal(reply.body.output.passages.length, 2)
})

test('Knowledge: the list is read page by page, and faults of a request are told', async (t) => {
  const service = await start(t)
  const { send, client } = await documentsOf(service)
  for (const name of ['a.txt', 'b.txt', 'c.txt']) await send('upload', 'text', { name })
  const first = (await client.request('GET', '/core/v1/knowledge?limit=2')).body
  const rest = (await client.request('GET', `/core/v1/knowledge?limit=2&before=${first.offset}`)).body
  const names = [first, rest].map(({ documents }) => documents.map(({ name }: { name: string }) => name))
  assert.deepEqual([names, first.has_more, rest.has_more], [[['c.txt', 'b.txt'], ['a.txt']], true, false])
  assert.equal((await client.request('GET', '/core/v1/knowledge?before=x')).status, 422)
  assert.equal((await send('a.txt', 'x', { title: 'x' })).status, 422)
  assert.equal((await client.request('POST', '/core/v1/knowledge', { body: { file: 'x' } })).status, 415)
})

test('Knowledge: documents of one name stay, unless a new one replaces them; equal content is found once', async (t) => {
  const { add, send, client, search } = await documentsOf(await start(t))
  const names = async () => (await client.request('GET', '/core/v1/knowledge')).body.documents.map(({ name }: DocumentView) => name)
  const first = await add('fees.md', 'The zebra costs 3 EUR.')
  const twin = await add('fees copy.md', 'The zebra costs 3 EUR.')
  const second = await add('fees.md', 'The zebra costs 4 EUR.')
  const found = (await search('zebra')).map(({ document_id: id }) => id)
  assert.deepEqual([found.length, new Set(found)], [2, new Set([twin.id, second.id])], `not ${first.id}, which has the text of the copy`)
  const broken = await add('fees.md', '\0', { replace: 'true' })
  assert.equal(broken.state, 'failed')
  assert.deepEqual(await names(), ['fees.md', 'fees.md', 'fees copy.md', 'fees.md'])
  const last = await add('fees.md', 'The zebra costs 5 EUR.', { replace: 'true' })
  await until(names, (listed) => listed.length === 2)
  assert.deepEqual(new Set((await search('zebra')).map(({ document_id: id }) => id)), new Set([twin.id, last.id]))
  assert.equal((await send('a.txt', 'x', { replace: 'yes' })).status, 422)
})

test('Knowledge: an answer cites file, heading and page, with the characters of document and answer', async (t) => {
  const call = callOf('knowledge_search', { query: 'trains' })
  const answer = 'Yes: trains are booked first class. Enjoy!'
  const service = await start(t, {
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: answer } : { calls: call.calls }),
  })
  const { id } = await (await documentsOf(service)).add('travel.pdf', makePdf(['Nothing here', 'Trains are booked first class']))
  const { client } = await documentsOf(service, { roles: ['user'] })
  const reply = await client.chat({ messages: [{ role: 'user', content: 'First class?' }] })
  const quote = {
    content: 'Trains are booked first class',
    file: 'travel.pdf',
    document_id: id,
    heading: 'Page 2',
    page: 2,
    start: 30,
    end: 59,
  }
  const context = [{ context_type: 'citations', items: [{ ...quote, answer_start: 0, answer_end: 35, tool: 'knowledge_search' }] }]
  assert.deepEqual(reply.body.body.additional_context, context)
  const session = await client.request('GET', `/core/v1/sessions/${reply.headers.get('session-id')}`)
  assert.deepEqual(session.body.messages.at(-1).additional_context, context)
  const events = await (await client.stream({ messages: [{ role: 'user', content: 'First class?' }] })).rest()
  assert.deepEqual(events.at(-1)?.chunk.additional_context, context)
})

test('Knowledge: citations are annotations for OpenAI clients, and sources for those of the AI SDK', async (t) => {
  const call = callOf('knowledge_search', { query: 'trains, days of leave' })
  const answer = 'Yes: trains are booked first class. Everybody has 25 days of leave.'
  const service = await start(t, {
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: answer } : { text: 'Let me look.', calls: call.calls }),
  })
  const { add } = await documentsOf(service)
  const { key } = await service.key({ roles: ['admin'] })
  const { id } = await add('travel.pdf', makePdf(['Nothing here', 'Trains are booked first class, and leave too']))
  const annotations = [
    { type: 'file_citation', index: 35, file_id: id, filename: 'travel.pdf' },
    { type: 'file_citation', index: answer.length, file_id: 'handbook/leave.md', filename: 'handbook/leave.md' },
  ]
  const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: key, maxRetries: 0 })
  const conversation = await openai.conversations.create()
  const request = { model: 'agent-core', input: 'First class, and leave?' }
  const partOf = ({ output }: OpenAI.Responses.Response) => {
    const message = output.at(-1)
    return message?.type === 'message' ? (message.content[0] as OpenAI.Responses.ResponseOutputText) : assert.fail('no message')
  }
  const response = await openai.responses.create({ ...request, conversation: conversation.id })
  assert.deepEqual([partOf(response).text, partOf(response).annotations], [answer, annotations])
  assert.deepEqual(partOf(await openai.responses.retrieve(response.id)).annotations, annotations)
  const items = await openai.conversations.items.list(conversation.id)
  const message = items.data.find((item) => item.type === 'message' && item.role === 'assistant')
  assert.deepEqual((message as { content: { annotations: object[] }[] }).content[0]?.annotations, annotations)

  const stream = openai.responses.stream(request)
  const added: OpenAI.Responses.ResponseOutputTextAnnotationAddedEvent[] = []
  for await (const event of stream) if (event.type === 'response.output_text.annotation.added') added.push(event)
  assert.deepEqual(
    added.map((event) => [event.annotation_index, event.annotation]),
    annotations.map((annotation, index) => [index, annotation]),
  )
  assert.deepEqual(partOf(await stream.finalResponse()).annotations, annotations)
  // A client sends what it was given.
  const again = await openai.responses.create({
    ...request,
    input: [...(response.output as OpenAI.Responses.ResponseInputItem[]), { role: 'user', content: 'Again?' }],
  })
  assert.deepEqual(partOf(again).annotations, annotations)

  const transport = new DefaultChatTransport({ api: `${service.url}/ui/chat`, headers: { 'x-service-access': key } })
  const ask = (messages: UIMessage[]) =>
    transport.sendMessages({ trigger: 'submit-message', chatId: 'sources', messageId: undefined, messages, abortSignal: undefined })
  const question = (number: number) => ({
    id: `q${number}`,
    role: 'user' as const,
    parts: [{ type: 'text' as const, text: 'First class?' }],
  })
  let shown: UIMessage | undefined
  for await (const each of readUIMessageStream({ stream: await ask([question(1)]) })) shown = each
  const sources = shown!.parts.filter((part) => part.type === 'source-document')
  assert.deepEqual(
    sources.map(({ type, sourceId, mediaType, title, filename }) => ({ type, sourceId, mediaType, title, filename })),
    [
      {
        type: 'source-document',
        sourceId: `${id}#30-74`,
        mediaType: 'application/pdf',
        title: 'travel.pdf, Page 2',
        filename: 'travel.pdf',
      },
      {
        type: 'source-document',
        sourceId: 'handbook/leave.md#9-40',
        mediaType: 'text/markdown',
        title: 'handbook/leave.md, Leave',
        filename: 'handbook/leave.md',
      },
    ],
  )
  const { text, page, answer: places } = sources[0]!.providerMetadata!['agent-core'] as Record<string, unknown>
  assert.deepEqual([text, page, places], ['Trains are booked first class, and leave too', 2, [{ start: 0, end: 35 }]])
  const followed = await ask([question(1), shown!, question(2)])
  assert.equal(
    await readUIMessageStream({ stream: followed })
      .getReader()
      .read()
      .then(({ done }) => done),
    false,
  )
})

test('Knowledge: documents are resources of MCP for keys that may read them', async (t) => {
  const service = await start(t, { config: { ...config, access: { roles: { talker: ['chat'] } } } })
  const { id } = await (await documentsOf(service)).add('parking.md', '# Parking\n\nBehind the house.\n\n# Bikes\n\nIn the cellar.')
  const connect = async (who: Who) => {
    const requestInit = { headers: { 'x-service-access': (await service.key(who)).key } }
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
    t.after(() => client.close())
    return client
  }
  const client = await connect({ roles: ['user'] })
  const uri = `agent-core://knowledge/${id}`
  assert.deepEqual((await client.listResources()).resources, [{ uri, name: 'parking.md', mimeType: 'text/plain' }])
  const text = 'Parking\n\nBehind the house.\n\nBikes\n\nIn the cellar.'
  assert.deepEqual((await client.readResource({ uri })).contents, [{ uri, mimeType: 'text/plain', text }])
  for (const who of [{ roles: ['talker'] }, { roles: ['user'], tenant: 'other' }]) {
    const other = await connect(who)
    assert.deepEqual((await other.listResources()).resources, [])
    await assert.rejects(other.readResource({ uri }))
  }
})
