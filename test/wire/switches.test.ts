import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookAt, startWire } from './fixture.ts'
import { providers } from './providers/providers.ts'

/** Turns and sessions that go from one provider to another. */

const red = 'It is red.'
const names = providers.map(({ name }) => name)

for (const primary of names) {
  test(`Wire of ${primary}: any other provider goes on with its turn, and ${primary} with the session`, async (t) => {
    const { script, ask, configure, wire } = await startWire(t, primary)
    for (const fallback of names.filter((name) => name !== primary)) {
      await configure(primary, fallback)
      wire.clear()
      script(
        { reasoning: 'I look.', text: 'Look.', calls: [lookAt('sky'), lookAt('sea')], by: primary },
        { reasoning: 'Once more.', calls: [lookAt('shore')], by: fallback },
        { reasoning: 'Red.', text: red, by: fallback },
      )
      assert.equal(await ask(fallback), red, fallback)
      script({ reasoning: 'Again.', calls: [lookAt('sky')], by: primary }, { reasoning: 'So it is.', text: 'Yes.', by: primary })
      assert.equal(await ask(fallback, 'Sure?'), 'Yes.', fallback)
    }
  })

  test(`Wire of ${primary}: a session of another provider goes on after a change of the configuration`, async (t) => {
    const { script, ask, configure, wire } = await startWire(t, primary)
    for (const other of names.filter((name) => name !== primary)) {
      wire.clear()
      await configure(other)
      script({ reasoning: 'I look.', calls: [lookAt('sky'), lookAt('sea')] }, { reasoning: 'Red.', text: red })
      assert.equal(await ask(other), red, other)
      await configure(primary)
      script({ reasoning: 'I look too.', calls: [lookAt('sky')] }, { reasoning: 'Blue.', text: 'Blue.' })
      assert.equal(await ask(other, 'And now?'), 'Blue.', other)
    }
  })
}

test('Wire of openai-responses: the same model of another organisation goes on with its turn, and with the session', async (t) => {
  const other = 'openai-other-organisation'
  const { script, ask } = await startWire(t, 'openai-responses', { fallback: [other] })
  script(
    { reasoning: 'I look.', calls: [lookAt('sky')], by: 'openai-responses' },
    { reasoning: 'Once more.', calls: [lookAt('sea')], by: other },
    { reasoning: 'Red.', text: red, by: other },
  )
  assert.equal(await ask('s'), red)
  script({ text: 'Yes.', by: other })
  assert.equal(await ask('s', 'Sure?'), 'Yes.')
})
