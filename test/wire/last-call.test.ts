import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookAt, startWire } from './fixture.ts'
import { providers } from './providers/providers.ts'

/** Requests in which the model may not call, after calls: the last of a run, the steps of a plan around its calls, and corrections. */

for (const { name } of providers) {
  test(`Wire of ${name}: the last model call of a run has the results, and calls nothing`, async (t) => {
    const { script, ask, wire } = await startWire(t, name, { config: { max_iterations: 2 } })
    script({ reasoning: 'I look.', text: 'Look.', calls: [lookAt('sky'), lookAt('sea')] }, { reasoning: 'Enough.', text: 'It is red.' })
    assert.equal(await ask('s'), 'It is red.')
    assert.match(JSON.stringify(wire.requests[1]!.body), /sky is red.*sea is red/)
    script({ text: 'Yes.' })
    assert.equal(await ask('s', 'Sure?'), 'Yes.')
  })

  test(`Wire of ${name}: a plan, its steps with calls, and the answer`, async (t) => {
    const { script, ask, wire } = await startWire(t, name, { config: { workflow_type: 'plan_execute' } })
    script(
      { reasoning: 'A plan.', text: '["Look at the sky.", "Look at the sea."]' },
      { reasoning: 'I look.', calls: [lookAt('sky')] },
      { text: 'The sky is red.' },
      { calls: [lookAt('sea')] },
      { text: 'The sea is red.' },
      { reasoning: 'All done.', text: 'All is red.' },
    )
    assert.equal(await ask('s'), 'All is red.')
    assert.match(JSON.stringify(wire.requests[5]!.body), /sky is red.*sea is red/)
  })
}
