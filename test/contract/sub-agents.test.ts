import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'

const all = '/core/v1/chain/sub_agents'
const researcher = {
  name: 'researcher',
  description: 'Finds things.',
  objective: 'Find what is asked.',
  tools: ['calculator'],
  workflow_type: 'react',
}
const config = { tools: [{ name: 'calculator' }], sub_agents: { max: 3 } }

const create = (client: Client, body: object) => client.request('POST', all, { body })
const list = async (client: Client) => (await client.request('GET', all)).body.sub_agents

test('Sub-agents: they are created, listed, read and terminated', async (t) => {
  const { client } = await startService(t, { script: {}, config })
  assert.deepEqual((await client.request('GET', all)).body, { sub_agents: [] })
  const made = await create(client, researcher)
  const { sub_agent_id: id, sub_agent_info: info } = made.body
  assert.deepEqual({ status: made.status, keys: Object.keys(made.body) }, { status: 200, keys: ['sub_agent_id', 'sub_agent_info'] })
  const { created_at: createdAt, last_active: lastActive, ...rest } = info
  assert.deepEqual(rest, { id, name: 'researcher', description: 'Finds things.', status: 'ready' })
  for (const time of [createdAt, lastActive]) assert.equal(new Date(time).toISOString(), time)
  const read = await client.request('GET', `${all}/${id}`)
  assert.deepEqual({ status: read.status, body: read.body }, { status: 200, body: info })
  assert.deepEqual(await list(client), [{ ...info, objective: 'Find what is asked.', tools: ['calculator'], workflow_type: 'react' }])

  const ended = await client.request('DELETE', `${all}/${id}`)
  assert.deepEqual({ status: ended.status, body: ended.body }, { status: 200, body: { sub_agent_id: id, status: 'terminated' } })
  for (const method of ['GET', 'DELETE']) {
    const { status, body } = await client.request(method, `${all}/${id}`)
    assert.deepEqual({ status, details: body.details }, { status: 404, details: { error_type: 'NotFound' } })
  }
  assert.deepEqual(await list(client), [])
})

test('Sub-agents: only the name is required; the name of a terminated sub-agent may be used again', async (t) => {
  const { client } = await startService(t, { script: {}, config })
  const { sub_agent_id: id } = (await create(client, { name: 'Zoë 调查 🙂' })).body
  const [listed] = await list(client)
  assert.deepEqual(
    {
      name: listed.name,
      description: listed.description,
      objective: listed.objective,
      tools: listed.tools,
      workflow_type: listed.workflow_type,
    },
    { name: 'Zoë 调查 🙂', description: '', objective: '', tools: [], workflow_type: 'react' },
  )
  const again = await create(client, { name: 'Zoë 调查 🙂' })
  assert.deepEqual({ status: again.status, details: again.body.details }, { status: 409, details: { error_type: 'SubAgentExists' } })
  await client.request('DELETE', `${all}/${id}`)
  assert.equal((await create(client, { name: 'Zoë 调查 🙂' })).status, 200)
})

test('Sub-agents: an invalid field is refused by name, and nothing changes', async (t) => {
  const { client } = await startService(t, { script: {}, config })
  const bad: [object | string, (string | number)[]][] = [
    [{}, ['body', 'name']],
    [{ name: '' }, ['body', 'name']],
    [{ name: ' ' }, ['body', 'name']],
    [{ name: 'x ' }, ['body', 'name']],
    [{ name: 'a\nb' }, ['body', 'name']],
    [{ name: 'a\u0000' }, ['body', 'name']],
    [{ name: 'x'.repeat(65) }, ['body', 'name']],
    [{ name: 7 }, ['body', 'name']],
    [{ ...researcher, description: 'x'.repeat(2001) }, ['body', 'description']],
    [{ ...researcher, tools: ['calculator', 'nothing'] }, ['body', 'tools', 1]],
    [{ ...researcher, tools: ['create_sub_agent'] }, ['body', 'tools', 0]],
    [{ ...researcher, tools: 'calculator' }, ['body', 'tools']],
    [{ ...researcher, workflow_type: 'swarm' }, ['body', 'workflow_type']],
    [{ ...researcher, tool: [] }, ['body', 'tool']],
    ['{', ['body']],
  ]
  for (const [body, loc] of bad) {
    const { status, body: reply } = await client.request('POST', all, { body })
    assert.deepEqual({ status, loc: reply.detail?.[0]?.loc }, { status: 422, loc }, JSON.stringify(body).slice(0, 80))
  }
  const named = await create(client, { ...researcher, tools: ['nothing'] })
  assert.match(named.body.detail[0].msg, /nothing/)
  assert.deepEqual(await list(client), [])
})

test('Sub-agents: sub_agents.max holds, also for concurrent requests', async (t) => {
  const { client } = await startService(t, { script: {}, config })
  const replies = await Promise.all(Array.from({ length: 8 }, (_, at) => create(client, { ...researcher, name: `n${at}` })))
  assert.deepEqual(replies.map(({ status }) => String(status)).toSorted(), [...Array(3).fill('200'), ...Array(5).fill('409')])
  const refused = replies.find(({ status }) => status === 409)!
  assert.deepEqual(refused.body.details, { error_type: 'SubAgentLimit' })
  assert.equal((await list(client)).length, 3)
})

test('Sub-agents: a sub-agent belongs to one caller', async (t) => {
  const { client, as } = await startService(t, { script: {}, config })
  const { sub_agent_id: id } = (await create(client, researcher)).body
  for (const other of [await as({ sub: 'bob' }), await as({ tenant: 'other' }), await as({ sub: 'root', roles: ['admin'] })]) {
    assert.deepEqual(await list(other), [])
    assert.equal((await other.request('GET', `${all}/${id}`)).status, 404)
    assert.equal((await other.request('DELETE', `${all}/${id}`)).status, 404)
    assert.equal((await create(other, researcher)).status, 200)
  }
  assert.equal((await list(client)).length, 1)
})

test('Access: sub_agents.read and sub_agents.write', async (t) => {
  const { as, url } = await startService(t, { script: {}, config })
  const viewer = await as({ roles: ['viewer'] })
  assert.deepEqual(await list(viewer), [])
  for (const [method, path] of [
    ['POST', all],
    ['DELETE', `${all}/x`],
  ] as const) {
    const { status, body } = await viewer.request(method, path, method === 'POST' ? { body: researcher } : {})
    assert.equal(status, 403)
    assert.match(body.body, /^RBAC: access denied.*sub_agents\.write/)
  }
  assert.equal((await fetch(url + all)).status, 401)
})

test('Sub-agents: they survive a restart', async (t) => {
  const service = await startService(t, { script: {}, config })
  await create(service.client, researcher)
  const before = await list(service.client)
  await service.restart()
  assert.deepEqual(await list(service.client), before)
})
