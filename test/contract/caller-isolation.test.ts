import { test } from 'node:test'
import assert from 'node:assert/strict'
import { startService } from '../fixtures/service.ts'

/** Two callers whose tenant and owner (`<issuer> <sub>`), joined by a blank, are the same text. */
const acme = { tenant: 'acme', sub: 'agent-core ann' }
const neighbour = { tenant: 'acme agent-core', sub: 'ann' }

const subAgents = '/core/v1/chain/sub_agents'

test('callers of two tenants with colliding joined names share neither sub-agents nor Python variables', async (t) => {
  const { as } = await startService(t, { script: {}, config: { tools: [{ name: 'calculator' }, { name: 'run_python' }] } })
  const [owner, other] = [await as(acme), await as(neighbour)]

  await t.test('a cached list of sub-agents of one caller is not shown to the other', async () => {
    const body = { name: 'secret-plan', description: 'Merger with X', objective: 'Keep it quiet.', tools: ['calculator'] }
    assert.equal((await owner.request('POST', subAgents, { body })).status, 200)
    assert.match((await owner.request('GET', subAgents)).text, /secret-plan/)
    const list = await other.request('GET', subAgents)
    assert.equal(list.status, 200)
    assert.doesNotMatch(list.text, /secret-plan|Merger/)
  })

  await t.test('a Python session of one caller is not shared with the other', async () => {
    const run = async (client: typeof owner, code: string) => {
      const headers = { 'session-id': 's1' }
      return (await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'run_python', tool_input: { code } }, headers }))
        .text
    }
    assert.match(await run(owner, 'secret = "launch code 4711"\nprint("stored")'), /stored/)
    assert.match(await run(owner, 'print(secret)'), /launch code 4711/)
    const answer = await run(other, 'print(secret)')
    assert.doesNotMatch(answer, /4711/)
    assert.match(answer, /NameError/)
  })
})
