import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { makePdf } from '../fixtures/make-documents.ts'
import { makeImage } from '../fixtures/make-images.ts'
import { endOf, startExperiment } from '../fixtures/refund-shop.ts'
import { startService } from '../fixtures/service.ts'
import { fakeTool } from '../fixtures/tools.ts'
import { call, say, ScriptedModel } from '../../src/agent/scripted-model.ts'

test('Experiments: pictures and files are shown again when the run, its files and its session are gone', async (t) => {
  const picture = await makeImage('png', { noise: true })
  const draw = fakeTool('draw', async (_input, { artifact }) => {
    await artifact('drawn.png', 'image/png', await makeImage('png', { width: 20, noise: true }), { isReturned: true })
    await artifact('beside.png', 'image/png', await makeImage('png', { width: 10 }))
    return 'drawn'
  })
  const drawing = say('', call('draw', {}))
  const model = new ScriptedModel(drawing, say('Done.'), drawing, say('Done.'))
  model.fileTypes = ['application/pdf']
  const service = await startService(t, { agentModel: model, tools: [draw], files: { 'a.pdf': makePdf(['Oil.']) } })
  const client = await service.as({ roles: ['admin'] })
  const images = [{ content: picture.toString('base64'), type: 'base64' }]
  const asked = { messages: [{ role: 'user', content: 'What is this?' }], images, context_files: ['a.pdf'] }
  assert.equal((await client.chat(asked, { 'request-id': 'r1', 'session-id': 's1' })).status, 200)
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'media' } })
  const at = `/core/v1/datasets/${dataset.id}/examples`
  const { body: example } = await client.request('POST', at, { body: { from_run: { request_id: 'r1' } } })
  assert.equal(example.reduced, false)
  await client.request('PATCH', `${at}/${example.id}`, { body: { source: null } })
  await client.request('DELETE', '/core/v1/sessions/s1')
  await rm(service.settings.filesRoot, { recursive: true })
  const artifacts = path.join(service.settings.dataDir, 'artifacts')
  await until(
    async () => (await readdir(artifacts)).filter((name) => !name.startsWith('.')),
    ({ length }) => length === 0,
  )

  const proof = await endOf(client, await startExperiment(client, { dataset_id: dataset.id, baseline: { recorded: true } }))
  assert.deepEqual([proof.verdict, proof.variants[0].diverged, model.requests.length], ['passed', 0, 2])
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset.id }))
  assert.deepEqual([ended.verdict, model.requests.length], ['passed', 4])
  const shown = model.requests.map(({ messages }) =>
    messages.map((message) => ({
      images: 'images' in message && message.images?.map(({ data }) => data),
      files: 'files' in message && message.files?.map(({ data }) => data),
    })),
  )
  assert.deepEqual(shown.slice(2), shown.slice(0, 2))
  assert.deepEqual(
    shown[1]!.map(({ images: pictures }) => pictures && pictures.length),
    [1, false, 1],
  )
})

test('Experiments: the rest of a long file is read from the recording when the file is gone', async (t) => {
  const long = `# Chapter\n\n${'A line about pumps.\n\n'.repeat(3000)}`
  const reading = say('', call('read_file', { path: 'long.md', offset: 100 }))
  const model = new ScriptedModel(reading, say('Pumps.'), reading, say('Pumps.'))
  const service = await startService(t, { agentModel: model, files: { 'long.md': long } })
  const client = await service.as({ roles: ['admin'] })
  const asked = { messages: [{ role: 'user', content: 'What is it about?' }], context_files: ['long.md'] }
  const { body } = await client.chat(asked, { 'request-id': 'r1' })
  assert.match(JSON.stringify(body.body.intermediate_steps[0]), /A line about pumps/)
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'files' } })
  await client.request('POST', `/core/v1/datasets/${dataset.id}/examples`, { body: { from_run: { request_id: 'r1' } } })
  await rm(service.settings.filesRoot, { recursive: true })
  const proof = await endOf(client, await startExperiment(client, { dataset_id: dataset.id, baseline: { recorded: true } }))
  const ended = await endOf(client, await startExperiment(client, { dataset_id: dataset.id }))
  assert.deepEqual([proof.verdict, ended.verdict, ended.variants[0].diverged, model.requests.length], ['passed', 'passed', 0, 4])
  const [first, , again] = model.requests
  assert.deepEqual([again!.tools, again!.messages[0]!.text], [first!.tools, first!.messages[0]!.text])
})
