import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { referenceServer } from '../../src/tools/mcp/mcp-fixture.ts'
import { makeBomb, makeImage } from '../fixtures/make-images.ts'
import { startModelServer, type ModelServerRequest } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

interface Part {
  type: string
  text?: string
  image_url?: { url: string }
}

interface Wire {
  role: string
  content: string | Part[] | null
}

/** The images of a request, as message role and base64. */
function picturesOf({ body }: ModelServerRequest): { role: string; data: string }[] {
  return (body.messages as Wire[]).flatMap(({ role, content }) =>
    (Array.isArray(content) ? content : []).flatMap(({ image_url }) =>
      image_url ? [{ role, data: image_url.url.replace(/^data:image\/\w+;base64,/, '') }] : [],
    ),
  )
}

function resultsOf({ body }: ModelServerRequest): string[] {
  return (body.messages as Wire[]).flatMap(({ role, content }) => (role === 'tool' && typeof content === 'string' ? [content] : []))
}

const environment = { PATH: process.env['PATH'] ?? '' }
const everything = { name: 'every', type: 'mcp', config: referenceServer('everything') }

/** A tool that returns images by name. */
const camera = (pictures: () => [string, Uint8Array][]) =>
  fakeTool('camera', async (_input, { artifact }) => {
    for (const [name, bytes] of pictures()) await artifact(name, 'image/png', bytes, { isReturned: true })
    return 'Done.'
  })

test('Images of tools: an image of an MCP server is shown to the model in this turn and the next, and is an artifact', async (t) => {
  const { client, model } = await startService(t, {
    environment,
    config: { tools: [everything] },
    script: [callOf('every__get-tiny-image'), { text: 'A tiny one.' }, { text: 'Still tiny.' }],
  })
  const { status, body } = await client.chat('Show it.', { 'session-id': 's' })
  assert.deepEqual({ status, output: body.body.output }, { status: 200, output: 'A tiny one.' })
  const [, second] = model.requests
  assert.deepEqual(
    picturesOf(second!).map(({ role }) => role),
    ['user'],
  )
  assert.equal(Buffer.from(picturesOf(second!)[0]!.data, 'base64').subarray(1, 4).toString(), 'PNG')
  const roles = (second!.body.messages as Wire[]).map(({ role }) => role)
  assert.deepEqual(roles.slice(-4), ['user', 'assistant', 'tool', 'user'])
  const label = (second!.body.messages.at(-1) as Wire).content as Part[]
  assert.match(
    label[0]!.text ?? '',
    /^\[Output of the tool every__get-tiny-image \(call [\w-]+\), not a message of the user: image-2\.png\]$/,
  )
  assert.match(resultsOf(second!)[0] ?? '', /is kept as the file image-2\.png/)
  await client.chat('And now?', { 'session-id': 's' })
  const third = model.requests.at(-1)!
  assert.equal(picturesOf(third).length, 1)
  assert.deepEqual((third.body.messages as Wire[]).map(({ role }) => role).slice(-5), ['assistant', 'tool', 'user', 'assistant', 'user'])
  const session = await client.session('s')
  assert.equal(session.body.messages[1].response_metadata.generated_artifacts[0].file_name, 'image-2.png')
  assert.doesNotMatch(JSON.stringify(session.body), /iVBOR/)
})

test('Images of tools: a model without vision gets the text only', async (t) => {
  const model = await startModelServer([callOf('every__get-tiny-image'), { text: 'Seen nothing.' }])
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'blind', base_url: model.url, images: false }
  const { client } = await startService(t, { environment, config: { llms: { primary }, tools: [everything] } })
  assert.equal((await client.chat('Show it.')).status, 200)
  assert.deepEqual(picturesOf(model.requests[1]!), [])
  assert.match(resultsOf(model.requests[1]!)[0] ?? '', /is kept as the file image-2\.png/)
})

test('Images of tools: a chart is shown when only an image is requested', async (t) => {
  const values = [{ x: 'a', y: 1 }]
  const spec = { data: { values }, mark: 'bar', encoding: { x: { field: 'x' }, y: { field: 'y', type: 'quantitative' } } }
  const { client, model } = await startService(t, {
    config: { tools: [{ name: 'chart' }] },
    script: [callOf('chart', { spec }), callOf('chart', { spec, format: 'png' }), { text: 'Fine.' }],
  })
  assert.equal((await client.chat('Draw.')).body.body.output, 'Fine.')
  assert.deepEqual(
    model.requests.map((request) => picturesOf(request).length),
    [0, 0, 1],
  )
})

test('Images of tools: broken, oversized and excess images are not shown, and the result says so', async (t) => {
  const good = await makeImage('png')
  let pictures: [string, Uint8Array][] = [
    ['good.png', good],
    ['broken.png', good.subarray(0, 60)],
    ['bomb.png', makeBomb(60_000, 60_000)],
  ]
  const { client, model } = await startService(t, {
    tools: [camera(() => pictures)],
    script: [callOf('camera'), { text: 'One.' }, callOf('camera'), { text: 'Five.' }],
  })
  const first = await client.chat('Look.')
  assert.equal(first.status, 200)
  assert.equal(picturesOf(model.requests[1]!).length, 1)
  const [result = ''] = resultsOf(model.requests[1]!)
  assert.match(result, /\[broken\.png is not shown: it is (broken|not a PNG)/)
  assert.match(result, /\[bomb\.png is not shown: it has more than 64 million pixels\.\]/)
  pictures = Array.from({ length: 7 }, (_, n) => [`${n}.png`, good])
  await client.chat('Look again.')
  assert.equal(picturesOf(model.requests[3]!).length, 5)
  assert.match(resultsOf(model.requests[3]!)[0] ?? '', /More than 5 images came with this result/)
})

test('Images of tools: the newest are shown, older ones are named, and a run has a limit', async (t) => {
  const pictures = await Promise.all(Array.from({ length: 12 }, (_, n) => makeImage('png', { width: 20 + n, height: 10 })))
  let next = 0
  const { client, model } = await startService(t, {
    tools: [camera(() => [[`${next}.png`, pictures[next++]!]])],
    script: [...pictures.map(() => callOf('camera')), { text: 'Done.' }],
  })
  assert.equal((await client.chat('Look often.')).status, 200)
  const counts = model.requests.map((request) => picturesOf(request).length)
  assert.deepEqual(counts, [0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8])
  const last = model.requests.at(-1)!
  assert.match(resultsOf(last)[0] ?? '', /\[Images that came with this result, not shown here: 0\.png\]/)
  assert.doesNotMatch(resultsOf(last).at(-1) ?? '', /not shown/)
})

test('Images of tools: a sub-agent sees the images of its tools', async (t) => {
  const picture = await makeImage('png')
  const { client, model } = await startService(t, {
    tools: [camera(() => [['view.png', picture]])],
    script: [callOf('sub_agent_eye', { task: 'Look.' }), callOf('camera'), { text: 'I see red.' }, { text: 'Red.' }],
  })
  const eye = { name: 'eye', description: 'Looks.', objective: 'Look.', tools: ['camera'] }
  assert.equal((await client.request('POST', '/core/v1/chain/sub_agents', { body: eye })).status, 200)
  const { body } = await client.chat('What do you see?')
  assert.equal(body.body?.output, 'Red.', JSON.stringify(body))
  assert.deepEqual(
    model.requests.map((request) => picturesOf(request).length),
    [0, 0, 1, 0],
  )
})

test('kill -9 after an image: the run continues with the image, and no checkpoint contains the bytes', async (t) => {
  const folder = await makeFolder(t)
  const picture = await makeImage('png', { width: 30, height: 20 })
  const entered = Promise.withResolvers<void>()
  const shop = createServer((request, response) => {
    if (request.url === '/view') return response.writeHead(200, { 'content-type': 'image/png' }).end(picture)
    entered.resolve()
    return undefined
  })
  await once(shop.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    shop.closeAllConnections()
    shop.close()
  })
  const url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
  const get = (what: string) => callOf('fetch', { method: 'GET', url: `${url}/${what}` })
  const pay = callOf('pay', { method: 'POST', url: `${url}/pay` })
  const model = await startModelServer((request) => {
    const results = resultsOf(request).length
    return results === 0 ? get('view') : results === 1 ? pay : { text: 'Done.' }
  })
  t.after(() => model.close())
  const tool = (name: string, effect: string) => ({ name, type: 'http_request', timeout: 60, effect })
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  await writeFile(
    path.join(folder, 'agent.yaml'),
    JSON.stringify({ llms: { primary }, tools: [tool('fetch', 'read'), tool('pay', 'write')] }),
  )
  const start = () => serve(t, folder, { OUTBOUND_ALLOW: '127.0.0.1' })
  const first = await start()
  const ids = { 'session-id': 's', 'request-id': 'r' }
  const answer = first.client.chat({ messages: [{ role: 'user', content: 'go' }], on_disconnect: 'continue' }, ids).catch(() => undefined)
  await entered.promise
  const [image] = picturesOf(model.requests.at(-1)!)
  assert.ok(image)
  first.child.kill('SIGKILL')
  await first.ended
  await answer
  const { client } = await start()
  const events = await (await client.follow('r')).rest()
  assert.equal(events.at(-1)?.chunk.finish_reason, 'stop')
  assert.deepEqual(
    picturesOf(model.requests.at(-1)!).map(({ data }) => data),
    [image.data],
  )
  await client.chat('And?', { 'session-id': 's' })
  assert.equal(picturesOf(model.requests.at(-1)!)[0]?.data, image.data)
})
