import assert from 'node:assert/strict'
import { test } from 'node:test'
import { event, sendEvent, until } from '../fixtures/async-client.ts'
import { cancel } from '../fixtures/approvals.ts'
import { askWithImage, lookAt, startWire, type WireService } from './fixture.ts'
import { providers } from './providers/providers.ts'

/** Runs of an agent against each provider. No provider may refuse a request of the service. */

type Scenario = (service: WireService) => Promise<void>

const red = 'It is red.'
/** A request that was refused does not come again. */
const limitMs = 5000
const asked = { messages: [{ role: 'user', content: 'Which colour?' }] }

const scenarios: Record<string, Scenario> = {
  async 'a text'({ script, ask }) {
    script({ text: red })
    assert.equal(await ask('s'), red)
  },
  async 'a call, then the answer'({ script, ask }) {
    script({ calls: [lookAt('sky')] }, { text: red })
    assert.equal(await ask('s'), red)
  },
  async 'parallel calls with a text'({ script, ask }) {
    script({ text: 'I look.', calls: [lookAt('sky'), lookAt('sea'), lookAt('sky')] }, { text: red })
    assert.equal(await ask('s'), red)
  },
  async 'thoughts with calls over three steps'({ script, ask }) {
    script(
      { reasoning: 'First the sky.', calls: [lookAt('sky')] },
      { reasoning: 'Then the sea.', text: 'Now the sea.', calls: [lookAt('sea'), lookAt('shore')] },
      { reasoning: 'And the sun.', calls: [lookAt('sun')] },
      { reasoning: 'All are red.', text: red },
    )
    assert.equal(await ask('s'), red)
  },
  async 'later questions of a session with thoughts and calls'({ script, ask }) {
    for (const colour of ['Red.', 'Blue.', 'Green.']) {
      script({ reasoning: `Is it ${colour}`, calls: [lookAt('sky')] }, { reasoning: 'Yes.', text: colour })
      assert.equal(await ask('s'), colour)
    }
    script({ reasoning: 'No call.', text: red })
    assert.equal(await ask('s'), red)
  },
  async 'later questions after a restart'({ script, ask, service }) {
    script({ reasoning: 'I look.', calls: [lookAt('sky'), lookAt('sea')] }, { reasoning: 'Red.', text: red })
    assert.equal(await ask('s'), red)
    await service.restart()
    script({ reasoning: 'Once more.', calls: [lookAt('sky')] }, { text: 'Blue.' })
    assert.equal(await ask('s'), 'Blue.')
  },
  async 'a run that a restart interrupts'({ script, service, wire, assertAccepted }) {
    const first = { reasoning: 'I look.', text: 'Look.', calls: [lookAt('sky'), lookAt('sea')] }
    script(first, { text: 'Lost.', begins: new Promise<void>(() => undefined) })
    await sendEvent(service.client, event('e', asked), { 'request-id': 'r', 'session-id': 's' })
    await until(
      async () => wire.requests.length,
      (count) => count === 2,
      limitMs,
    )
    script({ reasoning: 'Where was I?', text: red })
    await service.restart()
    const run = await until(
      async () => service.client.run('r'),
      ({ body }) => body.status === 'success' || body.status === 'error',
      limitMs,
    )
    assertAccepted()
    assert.equal(run.body.status, 'success', run.text)
    assert.equal(wire.requests.length, 3)
  },
  async 'answers of white space'({ script, ask }) {
    script({ text: '\n\n', calls: [lookAt('sky')] }, { text: ' \n' }, { text: red })
    assert.equal(await ask('s'), red)
    script({ text: 'Yes.' })
    assert.equal(await ask('s', 'Sure?'), 'Yes.')
  },
  async 'an empty answer, then a good one'({ script, ask }) {
    script({ text: '' }, { text: red })
    assert.equal(await ask('s'), red)
  },
  async 'an answer by a schema, after a call'({ script, ask }) {
    const schema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'], additionalProperties: false }
    const answer = '{"colour":"red"}'
    script({ reasoning: 'I look.', calls: [lookAt('sky')] }, { text: answer })
    assert.deepEqual(JSON.parse(await ask('s', { ...asked, response_schema: schema })), { colour: 'red' })
    script({ text: 'Blue?' }, { text: answer })
    assert.deepEqual(JSON.parse(await ask('s', { ...asked, response_schema: schema })), { colour: 'red' })
  },
  async 'an image, then a question about it'({ script, ask }) {
    script({ text: 'A square.' })
    assert.equal(await ask('s', await askWithImage()), 'A square.')
    script({ calls: [lookAt('square')] }, { text: red })
    assert.equal(await ask('s'), red)
  },
  async 'failed, unknown and empty results'({ script, ask }) {
    const calls = [
      { name: 'fails', input: {} },
      { name: 'silent', input: {} },
      { name: 'nothing', input: {} },
      { name: 'look', input: { at: 3 } },
    ]
    script({ reasoning: 'I try.', calls }, { text: red })
    assert.equal(await ask('s'), red)
  },
  async 'a question after a cancelled run'({ script, ask, service, wire }) {
    const first = { reasoning: 'I look.', text: 'Look.', calls: [lookAt('sky')] }
    script(first, { text: 'Lost.', begins: new Promise<void>(() => undefined) })
    const chat = service.client.chat(asked, { 'session-id': 's', 'request-id': 'r' })
    await until(
      async () => wire.requests.length,
      (count) => count === 2,
      limitMs,
    )
    assert.equal((await cancel(service.client, 'r')).body.status, 'cancelled')
    await chat
    script({ text: red })
    assert.equal(await ask('s'), red)
  },
}

for (const { name } of providers) {
  for (const [title, scenario] of Object.entries(scenarios)) {
    test(`Wire of ${name}: ${title}`, { timeout: 30_000 }, async (t) => scenario(await startWire(t, name)))
  }
}
