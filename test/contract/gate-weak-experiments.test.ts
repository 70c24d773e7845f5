import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothDatabases } from '../fixtures/both-databases.ts'
import { answerRefund, endOf, recordRefunds, shopTool, startExperiment, startRefunding } from '../fixtures/refund-shop.ts'

const databases = bothDatabases()

/** Refunds another order where the instructions ask for that, or with another tool. */
const script: typeof answerRefund = (request) => {
  if (String(request.body.messages[0].content).startsWith('You judge')) return { text: '{"points": 10, "reason": "Paid for it."}' }
  const answer = answerRefund(request)
  const text = String(request.body.messages[0].content)
  const calls = answer.calls?.map((call) => {
    if (!call.name.endsWith('__refund')) return call
    return text.includes('other tool')
      ? { ...call, name: 'pay__refund' }
      : text.includes('order 99')
        ? { ...call, arguments: '{"order":99}' }
        : call
  })
  return { ...answer, ...(calls && { calls }) }
}

for (const { name, environment } of databases) {
  test(`Gate: experiments that ask for less than the dataset do not let a change in, on ${name}`, async (t) => {
    const service = await startRefunding(t, {
      script,
      environment: await environment(),
      config: { releases: { gate: { dataset: 'core' } } },
    })
    const admin = await service.as({ sub: 'root', roles: ['admin'] })
    const dataset = await recordRefunds(admin, 2)
    const put = async (configuration: object) => {
      const { status, body } = await admin.request('PUT', '/core/v1/agent/config', { body: { configuration } })
      return [status, body.details?.reason]
    }
    const tryOut = async (patch: object, more: object = {}) => {
      const ended = await endOf(admin, await startExperiment(admin, { dataset_id: 'core', candidate: { patch }, ...more }))
      assert.deepEqual([ended.status, ended.verdict, ended.effects.added], ['completed', 'passed', 0], JSON.stringify(ended))
    }

    const changed = { instructions: 'Refund order 99.' }
    for (const scorers of [[{ name: 'effects', kind: 'effects', required: false }], [{ name: 'steps', kind: 'max_steps', steps: 50 }]]) {
      await tryOut(changed, { scorers })
      assert.deepEqual(await put(changed), [409, 'the experiment has not measured what the scorers of the dataset "core" measure today'])
    }

    const judged = [{ name: 'judge', kind: 'judge', model: 'primary', rubric: 'Is the order refunded?' }]
    await admin.request('PATCH', `/core/v1/datasets/${dataset}`, { body: { scorers: judged } })
    const own = { dataset_id: 'core', baseline: { patch: changed } }
    assert.equal((await endOf(admin, await startExperiment(admin, own))).verdict, 'passed')
    assert.deepEqual(await put(changed), [409, 'the experiment has not measured what the scorers of the dataset "core" measure today'])

    const pay = { ...shopTool(service.shop, 'files/api.yaml'), name: 'pay', effect: 'read' }
    const renamed = { instructions: 'Refund with the other tool.', tools: [shopTool(service.shop, 'files/api.yaml'), pay] }
    const scorers = [{ name: 'steps', kind: 'max_steps', steps: 50 }]
    await admin.request('PATCH', `/core/v1/datasets/${dataset}`, { body: { scorers } })
    await tryOut(renamed, { tools: { on_miss: 'error' } })
    assert.match(String(await put(renamed)), /^409,the pass rate is 0, .*: 2 with a call that has no recording$/)

    const { examples } = (await admin.request('GET', `/core/v1/datasets/${dataset}/examples`)).body
    await admin.request('DELETE', `/core/v1/datasets/${dataset}/examples/${examples[0].id}`)
    const other = { description: 'Refunds.' }
    await tryOut(other)
    await admin.request('POST', `/core/v1/datasets/${dataset}/examples`, { body: { from_run: { request_id: 'core-1' } } })
    assert.match(String(await put(other)), /^409,the pass rate is 0.5, .*: 1 that the dataset asks for today$/)
    await tryOut(other)
    assert.equal((await put(other))[0], 200)
    assert.deepEqual(service.refunds(), [1, 2])
  })
}
