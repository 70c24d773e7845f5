import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const calls = 25

/** Characters of a request in the order in which providers cache: tools, system, messages. */
function toPrompt({ tools, messages }: { tools?: object[]; messages: object[] }): string {
  return [...(tools ?? []), ...messages].map((part) => JSON.stringify(part)).join('\n')
}

function commonPrefix(before: string, after: string): number {
  let length = 0
  while (length < before.length && before[length] === after[length]) length++
  return length
}

interface Measure {
  /** The share of all input that an earlier request of the run already had as its beginning. */
  share: number
  /** The cost of the input with reads at a tenth and writes at five quarters of the price, where 1 is the cost without a cache. */
  cost: number
}

/** Every request writes what is behind the cached beginning, as with the automatic cache of Claude. */
function measure(prompts: readonly string[]): Measure {
  let [total, read, isAppended] = [0, 0, true]
  prompts.forEach((prompt, index) => {
    const before = prompts[index - 1] ?? ''
    const common = commonPrefix(before, prompt)
    isAppended &&= common === before.length
    total += prompt.length
    read += common
  })
  assert.ok(isAppended, 'a request does not begin with the request before')
  const share = read / total
  return { share, cost: share * 0.1 + (1 - share) * 1.25 }
}

async function measureRun(t: Parameters<typeof startService>[0], resultLength: number): Promise<Measure> {
  const look = fakeTool('look', async ({ page }) => ({ output: `${String(page)}: ${'Lorem ipsum dolor. '.repeat(resultLength / 19)}` }))
  const { client, model } = await startService(t, {
    script: (_request, index) => (index < calls - 1 ? callOf('look', { page: index }) : { text: 'Done.' }),
    tools: [look],
    config: { max_iterations: calls + 1 },
  })
  const { status } = await client.chat({ messages: [{ role: 'user', content: 'Read every page, then sum up.' }] })
  assert.deepEqual([status, model.requests.length], [200, calls])
  return measure(model.requests.map(({ body }) => toPrompt(body)))
}

test('each request of a run begins with the request before, so most input of 25 calls can be read from a prompt cache', async (t) => {
  for (const [resultLength, leastShare] of [
    [200, 0.9],
    [4000, 0.9],
  ] as const) {
    const { share, cost } = await measureRun(t, resultLength)
    t.diagnostic(
      `results of ${resultLength} characters: ${(share * 100).toFixed(1)} % of the input is a cached prefix, cost ${cost.toFixed(3)}`,
    )
    assert.ok(share > leastShare, `only ${share} of the input is a common prefix`)
  }
})
