import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWire } from './fixture.ts'
import { chatOddities } from './oddities/chat.ts'
import { otherOddities } from './oddities/others.ts'

/** Each oddity is played in several cuts of its bytes; one that is asked for again only once, because of the wait before. */

const red = 'It is red.'
const allWrites = [1, 7, 97, 100_000]

const oddities = [...chatOddities, ...otherOddities]

for (const provider of new Set(oddities.map((oddity) => oddity.provider))) {
  test(`Oddities of ${provider}: what servers send beside their documentation is read`, async (t) => {
    const { script, service, wire, assertAccepted } = await startWire(t, provider)
    for (const oddity of oddities.filter((candidate) => candidate.provider === provider)) {
      await t.test(oddity.name, async () => {
        for (const writes of oddity.isAskedAgain ? [7] : allWrites) {
          wire.clear()
          script({ raw: { ...oddity.response, writes } }, ...(oddity.output === undefined ? [{ text: red }] : []))
          const { status, body, text } = await service.client.chat('Which colour?')
          assertAccepted()
          assert.equal(status, 200, text)
          const { output, intermediate_steps: steps } = body.body
          const inputs = steps.filter(({ type }: any) => type === 'tool_call').map((step: any) => step.tool_input)
          assert.deepEqual({ output, inputs }, { output: oddity.output ?? red, inputs: oddity.calls ?? [] }, `writes of ${writes} bytes`)
          assert.deepEqual(wire.answers, [])
        }
      })
    }
  })
}
