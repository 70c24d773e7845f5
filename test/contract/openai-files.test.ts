import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import OpenAI, { toFile } from 'openai'
import type { ModelAnswer, ModelServerRequest } from '../fixtures/model-server.ts'
import { makeImage } from '../fixtures/make-images.ts'
import { startService, type Who } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const model = 'agent-core'

type Script = (request: ModelServerRequest) => ModelAnswer

async function startFiles(t: TestContext, script: Script = () => ({ text: 'Seen.' })) {
  const requests: ModelServerRequest[] = []
  const service = await startService(t, {
    script: (request) => {
      requests.push(request)
      return script(request)
    },
  })
  const as = async (who?: Who) => new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key(who)).key, maxRetries: 0 })
  /** What the model was shown as the last message of a user. */
  const shown = (): any => requests.at(-1)!.body.messages.findLast(({ role }: { role: string }) => role === 'user').content
  return { service, openai: await as(), as, shown, requests }
}

const question = (...content: OpenAI.ChatCompletionContentPart[]): OpenAI.ChatCompletionMessageParam => ({ role: 'user', content })
const ask = { type: 'text' as const, text: 'What does it say?' }
const upload = async (client: OpenAI, content: string | Buffer, name = 'notes.txt', type = 'text/plain') =>
  (await client.files.create({ file: await toFile(Buffer.from(content), name, { type }), purpose: 'user_data' })).id

test('OpenAI files: a completion is shown an uploaded document as text, and an uploaded image as an image', async (t) => {
  const { openai, as, shown } = await startFiles(t)
  const note = await upload(openai, 'The meeting is on Monday.')
  const picture = await upload(openai, await makeImage('png'), 'dot.png', 'image/png')
  const complete = (...parts: OpenAI.ChatCompletionContentPart[]) =>
    openai.chat.completions.create({ model, messages: [question(...parts)] })
  await complete({ type: 'file', file: { file_id: note } }, ask)
  assert.match(shown(), /name="notes.txt"[^]*The meeting is on Monday\.[^]*What does it say\?$/)
  await complete({ type: 'file', file: { file_id: picture } }, ask)
  assert.deepEqual(
    shown().map(({ type }: { type: string }) => type),
    ['text', 'image_url'],
  )
  const data = `data:text/markdown;base64,${Buffer.from('# Inline').toString('base64')}`
  await complete({ type: 'file', file: { file_data: data, filename: '../x/inline.md' } })
  assert.match(shown(), /name="inline.md"[^]*# Inline/)
  // The names of two files differ, also where they were sent with equal names; a file that is sent twice is shown once.
  await complete(
    { type: 'file', file: { file_id: note } },
    { type: 'file', file: { file_id: note } },
    { type: 'file', file: { file_data: Buffer.from('other').toString('base64'), filename: 'notes.txt' } },
    ask,
  )
  assert.match(shown(), /2 files[^]*name="notes.txt"[^]*name="2 notes.txt"/)
  const history = [question({ type: 'file', file: { file_id: note } }), { role: 'assistant' as const, content: 'Seen.' }, question(ask)]
  await openai.chat.completions.create({ model, messages: history })
  assert.match(shown(), /The meeting is on Monday\./)

  const faults: [OpenAI.ChatCompletionContentPart, object][] = [
    [
      { type: 'file', file: {} },
      { status: 400, param: 'messages[0].content[0].file.file_id' },
    ],
    [
      { type: 'file', file: { file_data: 'eA==' } },
      { status: 400, param: 'messages[0].content[0].file.filename' },
    ],
    [
      { type: 'file', file: { file_data: '', filename: 'a.txt' } },
      { status: 400, message: /messages\[0\]\.content\[0\]: it is empty/ },
    ],
    [
      { type: 'file', file: { file_data: 'JVBERi0xLjQ=', filename: 'a.pdf' } },
      { status: 400, message: /content\[0\]: .*PDF/ },
    ],
    [
      { type: 'file', file: { file_id: 'file-none' } },
      { status: 404, message: /messages\[0\]\.content\[0\]: there is no such file/ },
    ],
    [
      { type: 'file', file: { file_data: Buffer.from('x'.repeat(1_000_001)).toString('base64'), filename: 'a.txt' } },
      { status: 400, message: /1000000 characters/ },
    ],
  ]
  for (const [part, fault] of faults) await assert.rejects(complete(part, ask), fault, JSON.stringify(part).slice(0, 100))
  const bob = await as({ sub: 'bob' })
  const stolen = { model, messages: [question({ type: 'file', file: { file_id: note } }, ask)] }
  await assert.rejects(bob.chat.completions.create(stolen), { status: 404 })
})

test('OpenAI files: a response is shown uploaded and inline files, and lists them without their bytes', async (t) => {
  const { openai, as, shown } = await startFiles(t)
  const note = await upload(openai, 'The meeting is on Monday.')
  const picture = await upload(openai, await makeImage('png'), 'dot.png', 'image/png')
  const respond = (client: OpenAI, ...content: OpenAI.Responses.ResponseInputContent[]) =>
    client.responses.create({ model, input: [{ role: 'user', content: [...content, { type: 'input_text', text: 'And?' }] }] })
  const file_data = Buffer.from('a,b\n1,2').toString('base64')
  const { id } = await respond(
    openai,
    { type: 'input_file', file_id: note },
    { type: 'input_file', file_data, filename: 'table.csv' },
    { type: 'input_image', detail: 'auto', file_id: picture },
  )
  const [text, image] = shown()
  assert.match(text.text, /Monday[^]*a,b\n1,2[^]*And\?$/)
  assert.equal(image.type, 'image_url')
  const [item] = (await openai.responses.inputItems.list(id)).data
  assert.deepEqual((item as { content: unknown }).content, [
    { type: 'input_file', file_id: note, filename: null },
    { type: 'input_file', file_id: null, filename: 'table.csv' },
    { type: 'input_image', detail: 'auto', image_url: null, file_id: picture },
    { type: 'input_text', text: 'And?' },
  ])
  await assert.rejects(respond(openai, { type: 'input_image', detail: 'auto', file_id: note }), {
    status: 400,
    message: /input\[0\]\.content\[0\]/,
  })
  await assert.rejects(respond(openai, { type: 'input_file', file_url: 'https://example.com/a.pdf' }), {
    status: 400,
    code: 'unsupported_parameter',
  })
  await assert.rejects(respond(await as({ tenant: 'acme' }), { type: 'input_file', file_id: note }), { status: 404 })
})

test('OpenAI files: a run keeps its document when the upload is deleted, over a restart too; a repeat has its answer', async (t) => {
  const ping = { type: 'function' as const, function: { name: 'ping', parameters: { type: 'object', properties: {} } } }
  const script = ({ body }: ModelServerRequest) =>
    body.messages.some(({ role }: { role: string }) => role === 'tool') ? { text: 'Done.' } : callOf('ping', {})
  const { service, openai, as, shown } = await startFiles(t, script)
  const note = await upload(openai, 'The meeting is on Monday.')
  const messages = [question({ type: 'file', file: { file_id: note } }, ask)]
  const body = { model, messages, tools: [ping] }
  const headers = { 'request-id': 'kept' }
  const first = await openai.chat.completions.create(body, { headers })
  const call = first.choices[0]!.message.tool_calls![0]!
  await openai.files.delete(note)
  await service.restart()
  const again = await as()
  assert.deepEqual((await again.chat.completions.create(body, { headers })).choices[0]!.message.tool_calls, [call])
  const output = { role: 'tool' as const, tool_call_id: call.id, content: 'pong' }
  const answer = await again.chat.completions.create({ ...body, messages: [...messages, first.choices[0]!.message, output] })
  assert.equal(answer.choices[0]!.message.content, 'Done.')
  assert.match(shown(), /The meeting is on Monday\./)
  await assert.rejects(again.chat.completions.create(body), { status: 404 })
  const other = { ...body, messages: [question({ type: 'file', file: { file_data: 'eA==', filename: 'x.txt' } }, ask)] }
  await assert.rejects(again.chat.completions.create(other, { headers }), { status: 409 })
})

test('OpenAI files: of a long document the model is shown an outline, and a tool that reads on', async (t) => {
  const long = `# One\n\n${'words '.repeat(60_000)}\n\n# Two\n\nThe code is 4711.`
  const script = ({ body }: ModelServerRequest) => {
    const last = body.messages.at(-1)
    return last.role === 'tool' ? { text: last.content } : callOf('read_file', { path: 'long.md', offset: long.length - 20 })
  }
  const { openai, requests } = await startFiles(t, script)
  const id = await upload(openai, long, 'long.md', 'text/markdown')
  const answer = await openai.chat.completions.create({ model, messages: [question({ type: 'file', file: { file_id: id } }, ask)] })
  assert.match(requests[0]!.body.messages.at(-1).content, /shown="outline"[^]*- Two/)
  assert.match(answer.choices[0]!.message.content!, /The code is 4711\./)
})
