import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { ModelError } from '../../src/agent/model.ts'
import { fail, say, ScriptedModel } from '../../src/agent/scripted-model.ts'
import { makeMedia, makePdf } from '../fixtures/make-documents.ts'
import { makeImage } from '../fixtures/make-images.ts'
import { readingModel, shownTo } from '../fixtures/reading-model.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { scripted, startService, type ServiceOptions } from '../fixtures/service.ts'

const asking = (more: object, content = 'What is this?') => ({ messages: [{ role: 'user', content }], ...more })
const pdf = makePdf(['The pump needs oil.'])
const scan = makePdf([''])

/** A service with documents, audio and videos whose names partly lie. */
async function withMedia(t: TestContext, types: string[], options: ServiceOptions = {}) {
  const model = readingModel(...types)
  const files = {
    'a.pdf': pdf,
    'scan.pdf': scan,
    'named.txt': pdf,
    'a.wav': makeMedia('audio/wav'),
    'a.mp3': makeMedia('audio/mpeg'),
    'a.mp4': makeMedia('video/mp4'),
    'long.mp3': makeMedia('audio/mpeg', 12_000_000),
    'large.pdf': Buffer.concat([pdf, Buffer.alloc(12_000_000)]),
    'notes.md': 'The spare key hangs behind the door.',
    ...options.files,
  }
  const service = await startService(t, { agentModel: model, ...options, files })
  return { service, client: service.client, model }
}

test('Files: a PDF among the context files goes to a model that reads PDF, without its text in the question', async (t) => {
  const { client, model } = await withMedia(t, ['application/pdf'])
  const { status } = await client.chat(asking({ context_files: ['a.pdf', 'notes.md', 'named.txt'] }))
  assert.equal(status, 200)
  const [shown, ...others] = shownTo(model)
  assert.deepEqual([shown!.files, others], [['a.pdf application/pdf', 'named.txt application/pdf'], []])
  assert.match(shown!.text, /spare key[^]*What is this\?$/)
  assert.doesNotMatch(shown!.text, /pump/)
  const message = model.requests[0]!.messages[0]
  assert.ok(message?.role === 'user')
  assert.equal(message.files![0]!.data, pdf.toString('base64'))
  assert.match(message.files![0]!.text!, /<(file-\w+) name="a\.pdf"[^>]*>\n[^]*The pump needs oil\.\n<\/\1>$/)
})

test('Files: a model that reads no PDF gets its text, and a scanned PDF is refused by name', async (t) => {
  const { client, model } = await withMedia(t, [])
  assert.equal((await client.chat(asking({ context_files: ['a.pdf'] }))).status, 200)
  const [shown] = shownTo(model)
  assert.equal(shown!.files, undefined)
  assert.match(shown!.text, /The pump needs oil/)
  const { status, body } = await client.chat(asking({ context_files: ['scan.pdf'] }))
  assert.equal(status, 400)
  assert.match(body.body, /^context_files\[0\]: scan\.pdf: .*scanned/)
})

test('Files: a model that reads PDF reads scanned ones too', async (t) => {
  const { client, model } = await withMedia(t, ['application/pdf'])
  assert.equal((await client.chat(asking({ context_files: ['scan.pdf'] }))).status, 200)
  assert.deepEqual(shownTo(model), [{ text: 'What is this?', files: ['scan.pdf application/pdf'] }])
})

test('Files: the pages of a PDF are known, with text or scanned, also in later turns', async (t) => {
  const files = { 'two.pdf': makePdf(['The pump needs oil.', 'The belt does not.']), 'scans.pdf': makePdf(['', '', '']) }
  const { client, model } = await withMedia(t, ['application/pdf'], { files })
  const headers = { 'session-id': 's' }
  assert.equal((await client.chat(asking({ context_files: ['two.pdf', 'scans.pdf'] }), headers)).status, 200)
  assert.equal((await client.chat(asking({}), headers)).status, 200)
  const pages = model.requests.map(({ messages: [first] }) => (first?.role === 'user' ? first.files?.map((file) => file.pages) : undefined))
  assert.deepEqual(pages, [
    [2, 3],
    [2, 3],
  ])
})

test('Files: audio and videos go to a model that takes them; another model refuses them by field', async (t) => {
  const hears = await withMedia(t, ['audio/wav', 'audio/mpeg', 'video/mp4'])
  assert.equal((await hears.client.chat(asking({ context_files: ['a.wav', 'a.mp3', 'a.mp4'] }))).status, 200)
  assert.deepEqual(shownTo(hears.model), [{ text: 'What is this?', files: ['a.wav audio/wav', 'a.mp3 audio/mpeg', 'a.mp4 video/mp4'] }])
  const deaf = await withMedia(t, ['application/pdf'])
  const refused = [
    ['a.mp3', 'The model scripted-1 cannot hear audio (audio/mpeg).'],
    ['a.mp4', 'The model scripted-1 cannot watch videos (video/mp4).'],
  ]
  for (const [name, reason] of refused) {
    const { status, body } = await deaf.client.chat(asking({ context_files: ['notes.md', name] }))
    assert.deepEqual({ status, body: body.body }, { status: 400, body: `context_files[1]: ${name}: ${reason}` })
  }
})

test('Files: audio beyond the limits of a question is refused, and a PDF beyond them goes as text', async (t) => {
  const { client, model } = await withMedia(t, ['audio/mpeg', 'application/pdf'], {
    files: { 'longer.mp3': makeMedia('audio/mpeg', 20_000_001) },
  })
  assert.equal((await client.chat(asking({ context_files: ['large.pdf', 'long.mp3'] }))).status, 200)
  const [shown] = shownTo(model)
  assert.deepEqual(shown!.files, ['long.mp3 audio/mpeg'])
  assert.match(shown!.text, /The pump needs oil/)
  const { status, body } = await client.chat(asking({ context_files: ['longer.mp3'] }))
  assert.equal(status, 400)
  assert.match(body.body, /^context_files\[0\]: longer\.mp3: at most 5 documents, audio files and videos, with at most 20 MB together/)
})

test('Files: an image field that holds a document says where documents belong', async (t) => {
  const { client } = await withMedia(t, ['application/pdf'])
  const { status, body } = await client.chat(asking({ images: [{ type: 'base64', content: pdf.toString('base64') }] }))
  assert.equal(status, 400)
  assert.match(body.body, /^images\[0\]: it is not a PNG.* application\/pdf, which belongs in `context_files`/)
})

test('Files: later questions show the newest files again while they fit, and name the others', async (t) => {
  const { service, model } = await withMedia(t, ['application/pdf', 'audio/mpeg'])
  const headers = { 'session-id': 's' }
  const ask = (names: string[], content: string) => service.client.chat(asking({ context_files: names }, content), headers)
  assert.equal((await ask(['large.pdf'], 'one')).status, 200)
  assert.equal((await ask(['long.mp3', 'notes.md'], 'two')).status, 200)
  assert.deepEqual(
    shownTo(model).map(({ files }) => files),
    [undefined, ['long.mp3 audio/mpeg']],
  )
  await service.restart()
  assert.equal((await service.client.chat('three', headers)).status, 200)
  assert.deepEqual(shownTo(model), [
    { text: 'one\n\n[Files that came with this message, not shown again: large.pdf]' },
    { text: 'two\n\n[Files that came with this message, not shown again: notes.md]', files: ['earlier long.mp3 audio/mpeg'] },
    { text: 'three' },
  ])
  model.fileTypes = []
  assert.equal((await service.client.chat('four', headers)).status, 200)
  assert.equal(shownTo(model)[1]!.text, 'two\n\n[Files that came with this message, not shown again: notes.md, long.mp3]')
})

test('Files: a question with data filter hints gets no file that a filter may withhold', async (t) => {
  const tools = [
    { name: 'docs', type: 'read_file', config: { paths: ['a.pdf'] } },
    { name: 'sales', type: 'data_query', config: { tables: { sales: 'f.csv' } } },
  ]
  const { client, model } = await withMedia(t, ['application/pdf'], { config: { tools }, files: { 'f.csv': 'name\ncup\n' } })
  const headers = { 'session-id': 's' }
  const data_filter_hints = [{ tool_name: 'sales', filter_key: 'name', filter_type: 'equals', filter_value: 'cup' }]
  assert.equal((await client.chat(asking({ context_files: ['a.pdf'] }, 'one'), headers)).status, 200)
  assert.equal((await client.chat(asking({ data_filter_hints, context_files: ['scan.pdf'] }, 'two'), headers)).status, 200)
  assert.deepEqual(
    shownTo(model).map(({ files }) => files),
    [undefined, ['scan.pdf application/pdf']],
  )
  const { status, body } = await client.chat(asking({ data_filter_hints, context_files: ['a.pdf', 'f.csv'] }), headers)
  assert.deepEqual({ status, loc: body.details.errors[0].loc }, { status: 422, loc: ['body', 'context_files', 1] })
})

test('Files: a continued request keeps its files, and shows them once', async (t) => {
  const model = new ScriptedModel(fail(new ModelError('refused', 'no')), say('ok'))
  model.fileTypes = ['application/pdf']
  const { client } = await startService(t, { agentModel: model, files: { 'a.pdf': pdf } })
  const headers = { 'session-id': 's', 'request-id': 'r' }
  assert.equal((await client.chat(asking({ context_files: ['a.pdf'] }), headers)).status, 502)
  assert.equal((await client.chat(asking({ context_files: ['a.pdf'] }), headers)).status, 200)
  const question = [{ text: 'What is this?', files: ['a.pdf application/pdf'] }]
  assert.deepEqual([shownTo(model, 0), shownTo(model, 1)], [question, question])
})

test('Files: a session lists files by name and kind, without their content', async (t) => {
  const { client } = await withMedia(t, ['application/pdf', 'audio/mpeg'])
  await client.chat(asking({ context_files: ['named.txt', 'notes.md', 'a.mp3'] }), { 'session-id': 's' })
  const { body, text } = await client.session('s')
  assert.deepEqual(body.messages[0].context_files, [
    { name: 'notes.md', kind: 'text/markdown' },
    { name: 'named.txt', kind: 'application/pdf' },
    { name: 'a.mp3', kind: 'audio/mpeg' },
  ])
  assert.ok(text.length < 2000)
})

test('Files: images and files of a question are shown together', async (t) => {
  const { client, model } = await withMedia(t, ['application/pdf'])
  const images = [{ type: 'base64', content: (await makeImage('png')).toString('base64') }]
  const headers = { 'session-id': 's' }
  assert.equal((await client.chat(asking({ images, context_files: ['a.pdf'] }), headers)).status, 200)
  assert.deepEqual(shownTo(model), [{ text: 'What is this?', images: 1, files: ['a.pdf application/pdf'] }])
  assert.equal((await client.chat('And now?', headers)).status, 200)
  assert.deepEqual(shownTo(model)[0], { text: 'What is this?', images: 1, files: ['earlier a.pdf application/pdf'] })
})

test('Files: after kill -9 the run sends its PDF again, and a fallback that reads no PDF gets the text', async (t) => {
  const folder = await makeFolder(t)
  const entered = Promise.withResolvers<void>()
  const reads = await startModelServer((_request, index) => {
    entered.resolve()
    return index === 0 ? { silentAfter: 0 } : { status: 400, body: {} }
  })
  const blind = await startModelServer({ text: 'Oil.' })
  t.after(() => Promise.all([reads.close(), blind.close()]))
  const primary = { ...scripted(reads), provider: 'openai', model: 'gpt-5-mini', wire: 'chat-completions' }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary, fallback: [scripted(blind)] } }))
  await mkdir(path.join(folder, 'files'))
  await writeFile(path.join(folder, 'files', 'a.pdf'), pdf)
  const first = await serve(t, folder)
  const body = asking({ context_files: ['a.pdf'], on_disconnect: 'continue' })
  const headers = { 'session-id': 's', 'request-id': 'r' }
  const cut = first.client.chat(body, headers).catch(() => 'cut')
  await entered.promise
  first.child.kill('SIGKILL')
  assert.equal(await cut, 'cut')
  const second = await serve(t, folder)
  assert.equal((await second.client.chat(body, headers)).body.body.output, 'Oil.')
  const [before, after] = reads.requests.map(({ body: { messages } }) => messages.at(-1).content)
  assert.deepEqual(before, after)
  assert.ok(JSON.stringify(after).includes(pdf.toString('base64')))
  const { content } = blind.requests[0]!.body.messages.at(-1)
  assert.match(content, /name="a\.pdf"[^>]*>\n[^]*The pump needs oil\.[^]*What is this\?$/)
})

test('Files: the embedded model as a fallback answers from the text of a PDF', async (t) => {
  const reads = await startModelServer({ status: 400, body: {} })
  t.after(() => reads.close())
  const primary = { ...scripted(reads), provider: 'openai', model: 'gpt-5-mini', wire: 'chat-completions' }
  const config = { llms: { primary, fallback: [{ provider: 'embedded', model: 'rules-1' }] } }
  const { client } = await startService(t, { config, files: { 'a.pdf': pdf, 'notes.md': 'The spare key hangs behind the door.' } })
  const headers = { 'session-id': 's' }
  for (const context_files of [['a.pdf'], ['a.pdf', 'notes.md']]) {
    const { body } = await client.chat(asking({ context_files }, 'What does the pump need?'), headers)
    assert.match(body.body.output, /pump needs oil/)
  }
  assert.ok(JSON.stringify(reads.requests[0]!.body).includes(pdf.toString('base64')))
})
