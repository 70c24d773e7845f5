import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePdf } from '../fixtures/make-documents.ts'
import { startWire } from './fixture.ts'

/** Documents of questions, to the providers that read PDF. */

const red = 'It is red.'
const file = (filename: string, text: string) => ({ type: 'file', file: { filename, file_data: makePdf([text]).toString('base64') } })

for (const name of ['openai-responses', 'anthropic', 'google', 'bedrock']) {
  test(`Wire of ${name}: documents of one name, names that are not plain, a question without words, and seven documents`, async (t) => {
    const { script, service, wire, assertAccepted } = await startWire(t, name)
    const ask = async (...content: object[]) => {
      script({ text: red })
      const body = { model: 'agent-core', messages: [{ role: 'user', content }] }
      const answer = await service.client.request('POST', '/v1/chat/completions', { body })
      assertAccepted()
      assert.equal(answer.status, 200, answer.text)
      return JSON.stringify(wire.requests.at(-1)!.body)
    }
    await ask(
      { type: 'text', text: 'Which colour?' },
      file('a.pdf', 'One.'),
      file('A.pdf', 'Two.'),
      file('a.b.pdf', 'Three.'),
      file('色.pdf', 'Four.'),
      file('  ä_ö.pdf', 'Five.'),
    )
    await ask(file('a.pdf', 'One.'))
    const sent = await ask(
      { type: 'text', text: 'Which colour?' },
      ...Array.from({ length: 7 }, (_, n) => file('a.pdf', `Text number ${n}.`)),
    )
    assert.match(sent, /Text number 6\./)
  })
}
