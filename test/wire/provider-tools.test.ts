import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookAt, startWire } from './fixture.ts'

/** Searches that the provider runs between calls of the agent's own tools. No provider may refuse what it has sent. */

const names = ['openai-responses', 'azure-responses', 'xai-responses', 'anthropic', 'google']
const red = 'It is red.'
const config = { tools: [{ name: 'web_search', type: 'provider', config: { tool: 'web_search', price: 0.01 } }] }

for (const [at, name] of names.entries()) {
  test(`Wire of ${name}: searches beside calls, later questions, and a restart`, async (t) => {
    const { script, ask, assertAccepted, service, wire } = await startWire(t, name, { config })
    script(
      { reasoning: 'I search.', searches: ['red sky', 'red sea'], text: 'I look.', calls: [lookAt('sky'), lookAt('sea')] },
      { reasoning: 'Once more.', searches: ['red sun'], text: red },
    )
    const { body } = await service.client.chat('Which colour?', { 'session-id': 's' })
    assertAccepted()
    assert.equal(body.body.output, red)
    assert.match(JSON.stringify(wire.requests[0]!.body.tools), /web_search|googleSearch/)
    const steps: { type: string; tool: string; status: string; tool_input: object }[] = body.body.intermediate_steps
    const called = steps.filter(({ type }) => type === 'tool_call')
    assert.deepEqual(
      called.map(({ tool, status }) => `${tool} ${status}`),
      ['web_search', 'web_search', 'look', 'look', 'web_search'].map((tool) => `${tool} success`),
    )
    assert.match(JSON.stringify(called[1]!.tool_input), /red sea/)
    script({ searches: ['sure'], text: 'Yes.' })
    assert.equal(await ask('s', 'Sure?'), 'Yes.')
    await service.restart()
    script({ reasoning: 'Again.', calls: [lookAt('sky')] }, { text: 'Still red.' })
    assert.equal(await ask('s', 'And now?'), 'Still red.')
  })

  const other = names[(at + 1) % names.length]!
  test(`Wire of ${name}: ${other} goes on after a search`, async (t) => {
    const { script, ask } = await startWire(t, name, { config, fallback: [other] })
    script(
      { reasoning: 'I search.', searches: ['red sky'], text: 'I look.', calls: [lookAt('sky')], by: name },
      { reasoning: 'Once more.', searches: ['red sun'], text: red, by: other },
    )
    assert.equal(await ask('s'), red)
    script({ searches: ['sure'], text: 'Yes.', by: name })
    assert.equal(await ask('s', 'Sure?'), 'Yes.')
  })
}

test('Wire of anthropic: a paused answer goes on', async (t) => {
  const { script, ask } = await startWire(t, 'anthropic', { config })
  script(
    { reasoning: 'I search.', searches: ['red sky'], isPaused: true },
    { searches: ['red sea'], text: 'I look.', calls: [lookAt('sky')] },
    { text: red },
  )
  assert.equal(await ask('s'), red)
  script({ text: 'Yes.' })
  assert.equal(await ask('s', 'Sure?'), 'Yes.')
})
