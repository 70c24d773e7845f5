import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { makeMedia, makePdf } from '../fixtures/make-documents.ts'
import { readingModel, shownTo } from '../fixtures/reading-model.ts'
import { startService, type TestService } from '../fixtures/service.ts'

const pdf = makePdf(['The pump needs oil.']).toString('base64')
const mp3 = makeMedia('audio/mpeg').toString('base64')
const mp4 = makeMedia('video/mp4').toString('base64')
const pdfUrl = `data:application/octet-stream;base64,${pdf}`

async function start(t: TestContext, ...types: string[]) {
  const model = readingModel(...types)
  const service = await startService(t, { agentModel: model })
  return {
    service,
    model,
    post: (path: string, body: object) => service.client.request('POST', path, { body, headers: { 'a2a-version': '1.0' } }),
  }
}

/** Uploads a file. Resolves to its id. */
async function upload({ url, key }: TestService, name: string, bytes: Buffer, sub = 'ann'): Promise<string> {
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new File([new Uint8Array(bytes)], name))
  const headers = { authorization: `Bearer ${(await key({ sub })).key}` }
  const response = await fetch(`${url}/v1/files`, { method: 'POST', headers, body: form })
  assert.equal(response.status, 200)
  return ((await response.json()) as { id: string }).id
}

test('Files: context files may name uploads of the caller', async (t) => {
  const { service, model } = await start(t, 'application/pdf')
  const own = await upload(service, 'a.pdf', Buffer.from(pdf, 'base64'))
  const text = await upload(service, 'notes.md', Buffer.from('The spare key hangs behind the door.'))
  const foreign = await upload(service, 'b.pdf', Buffer.from(pdf, 'base64'), 'bob')
  const ask = (...context_files: string[]) =>
    service.client.chat({ messages: [{ role: 'user', content: 'What is this?' }], context_files }, { 'session-id': 's' })
  assert.equal((await ask(own, text, own)).status, 200)
  const [shown] = shownTo(model)
  assert.deepEqual(shown!.files, ['a.pdf application/pdf'])
  assert.match(shown!.text, /spare key[^]*What is this\?$/)
  const listed = (await service.client.session('s')).body.messages[0].context_files
  assert.deepEqual(listed, [
    { name: 'notes.md', kind: 'text/markdown' },
    { name: 'a.pdf', kind: 'application/pdf' },
  ])
  const refused = await ask(own, foreign)
  assert.deepEqual([refused.status, refused.body.body], [400, 'context_files[1]: there is no such file.'])
})

test('OpenAI: files and audio of a completion reach a model that reads them, and earlier ones are left out when it does not', async (t) => {
  const { model, post } = await start(t, 'application/pdf', 'audio/mpeg')
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'file', file: { filename: 'a.txt', file_data: pdfUrl } },
    { type: 'input_audio', input_audio: { data: mp3, format: 'mp3' } },
  ]
  const complete = (messages: object[]) => post('/v1/chat/completions', { model: 'agent-core', messages })
  assert.equal((await complete([{ role: 'user', content }])).status, 200)
  assert.deepEqual(shownTo(model), [{ text: 'What is this?', files: ['a.txt application/pdf', 'audio.mp3 audio/mpeg'] }])
  model.fileTypes = []
  const refused = await complete([{ role: 'user', content }])
  assert.equal(refused.status, 400)
  assert.match(refused.body.error.message, /^messages\[0\]\.content\[2\]: The model scripted-1 cannot hear audio \(audio\/mpeg\)\.$/)
  const later = [
    { role: 'user', content },
    { role: 'assistant', content: 'A pump.' },
    { role: 'user', content: 'Sure?' },
  ]
  assert.equal((await complete(later)).status, 200)
  const [first, last] = shownTo(model)
  assert.equal(first!.text, 'What is this?')
  assert.match(last!.text, /The pump needs oil\.[^]*Sure\?$/)
})

test('OpenAI: many documents of a conversation do not make its next question too large', async (t) => {
  const { model, post } = await start(t, 'application/pdf')
  const file = (n: number) => ({ type: 'file', file: { filename: `${n}.pdf`, file_data: makePdf([`Page of ${n}.`]).toString('base64') } })
  const earlier = [1, 2, 3, 4, 5, 6].flatMap((n) => [
    { role: 'user', content: [{ type: 'text', text: `${n}?` }, file(n)] },
    { role: 'assistant', content: 'Yes.' },
  ])
  const messages = [...earlier, { role: 'user', content: [{ type: 'text', text: '7?' }, file(7)] }]
  assert.equal((await post('/v1/chat/completions', { model: 'agent-core', messages })).status, 200)
  const last = shownTo(model).at(-1)!
  assert.deepEqual(
    last.files,
    [3, 4, 5, 6, 7].map((n) => `${n}.pdf application/pdf`),
  )
  assert.match(last.text, /Page of 1\.[^]*Page of 2\.[^]*7\?$/)
})

test('Responses: input_file and input_audio reach the model, and the stored input has no bytes', async (t) => {
  const { service, model, post } = await start(t, 'application/pdf', 'audio/mpeg')
  const content = [
    { type: 'input_text', text: 'What is this?' },
    { type: 'input_file', filename: 'a.pdf', file_data: pdf },
    { type: 'input_audio', input_audio: { data: mp3, format: 'mp3' } },
  ]
  const { status, body } = await post('/v1/responses', { model: 'agent-core', input: [{ role: 'user', content }] })
  assert.equal(status, 200)
  assert.deepEqual(shownTo(model), [{ text: 'What is this?', files: ['a.pdf application/pdf', 'audio.mp3 audio/mpeg'] }])
  const items = await service.client.request('GET', `/v1/responses/${body.id}/input_items`)
  assert.deepEqual(items.body.data[0].content[2], { type: 'input_audio', input_audio: { data: null, format: 'mp3' } })
  const next = await post('/v1/responses', { model: 'agent-core', input: 'And now?', previous_response_id: body.id })
  assert.equal(next.status, 200)
  assert.deepEqual(shownTo(model)[0]!.files, ['earlier a.pdf application/pdf', 'earlier audio.mp3 audio/mpeg'])
})

test('UI chat: documents, audio and videos of a message reach a model that takes them, as text otherwise', async (t) => {
  const { model, post } = await start(t, 'application/pdf', 'video/mp4')
  const parts = [
    { type: 'text', text: 'What is this?' },
    { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', url: pdfUrl },
    { type: 'file', mediaType: 'video/mp4', url: `data:video/mp4;base64,${mp4}` },
    { type: 'file', mediaType: 'text/csv', filename: 'b.csv', url: `data:text/csv;base64,${Buffer.from('cup,3').toString('base64')}` },
  ]
  const send = (id: string, sent: object[]) => post('/ui/chat', { id, messages: [{ role: 'user', parts: sent }] })
  assert.equal((await send('one', parts)).status, 200)
  const [shown] = shownTo(model)
  assert.deepEqual(shown!.files, ['a.pdf application/pdf', 'file video/mp4'])
  assert.match(shown!.text, /name="b\.csv"[^]*cup,3[^]*What is this\?$/)
  assert.match(
    (await send('two', [{ type: 'file', mediaType: 'audio/mpeg', url: `data:audio/mpeg;base64,${mp3}` }])).text,
    /cannot hear audio/,
  )
  const foreign = await send('three', [{ type: 'file', mediaType: 'application/pdf', url: 'https://example.org/a.pdf' }])
  assert.match(foreign.text, /files are not fetched from other addresses/)
})

test('AG-UI: documents, audio and binary parts reach a model that takes them', async (t) => {
  const { model, post } = await start(t, 'application/pdf', 'audio/mpeg')
  const send = (threadId: string, ...content: object[]) =>
    post('/ag-ui', { threadId, runId: `run-${threadId}`, messages: [{ id: '1', role: 'user', content }] })
  const document = { type: 'document', source: { type: 'data', value: pdf, mimeType: 'application/pdf' } }
  const audio = { type: 'audio', source: { type: 'url', value: `data:audio/mpeg;base64,${mp3}` } }
  const binary = { type: 'binary', mimeType: 'application/pdf', filename: 'b.pdf', data: pdf }
  assert.equal((await send('one', { type: 'text', text: 'What is this?' }, document, audio, binary)).status, 200)
  const files = ['document-2 application/pdf', 'audio-3 audio/mpeg', 'b.pdf application/pdf']
  assert.deepEqual(shownTo(model), [{ text: 'What is this?', files }])
  const video = { type: 'video', source: { type: 'data', value: mp4, mimeType: 'video/mp4' } }
  assert.match((await send('two', video)).text, /cannot watch videos/)
})

test('A2A: a PDF and audio reach a model that takes them, and the card names the types', async (t) => {
  const { service, model, post } = await start(t, 'application/pdf', 'audio/mpeg')
  const send = (...parts: object[]) =>
    post('/a2a', {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts } },
    })
  const sent = await send(
    { text: 'What is this?' },
    { raw: pdf, filename: 'a.pdf', mediaType: 'application/pdf' },
    { raw: mp3, mediaType: 'audio/mpeg; codecs=mp3' },
  )
  assert.equal(sent.body.error, undefined)
  assert.deepEqual(shownTo(model), [{ text: 'What is this?', files: ['a.pdf application/pdf', 'file-3 audio/mpeg'] }])
  const refused = await send({ raw: mp4, mediaType: 'video/mp4' })
  assert.match(refused.body.error.message, /message\.parts\[0\]\.raw: The model scripted-1 cannot watch videos \(video\/mp4\)\./)
  const { body } = await service.client.request('GET', '/.well-known/agent-card.json')
  assert.ok(body.defaultInputModes.includes('audio/mpeg') && !body.defaultInputModes.includes('video/mp4'))
})
