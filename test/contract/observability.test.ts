import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const metricsOf = async (client: Client, query = '') => (await client.request('GET', `/core/v1/metrics${query}`)).body
const logsOf = async (client: Client, query = '') => {
  const { body } = await client.request('GET', `/core/v1/logs${query}`)
  return { ...body, data: JSON.parse(body.data) }
}

test('Observability: metrics are zero without runs', async (t) => {
  const { as } = await startService(t)
  const operator = await as({ roles: ['operator'] })
  assert.deepEqual(await metricsOf(operator), {
    status_value_counts: { success: 0, error: 0, cancelled: 0, timeout: 0 },
    ...{ total_requests: 0, total_errors: 0, total_tokens: 0, mean_tokens: 0, mean_latency: 0, max_latency: 0, min_latency: 0 },
    ...{ total_prompt_tokens: 0, mean_prompt_tokens: 0, total_completion_tokens: 0, mean_completion_tokens: 0 },
  })
  assert.deepEqual(await logsOf(operator), { data: [], total: 0, has_more: false })
})

test('Observability: metrics and logs match the runs, separately for each tenant', async (t) => {
  const { as } = await startService(t, {
    tools: [fakeTool('add', async () => 3)],
    script: ({ body }) => {
      const text = body.messages.at(-1).content
      return text.includes('fail') ? { status: 400, body: {} } : { text: 'ok', usage: { input: text.length, output: 10 } }
    },
  })
  const [ann, operator] = [await as({ sub: 'ann' }), await as({ sub: 'op', roles: ['operator'] })]
  const [bob, other] = [await as({ sub: 'bob', tenant: 'b' }), await as({ tenant: 'b', roles: ['operator'] })]
  for (const text of ['aaaa', 'bb']) assert.equal((await ann.chat(text)).status, 200)
  await (await ann.stream('cccccc')).rest()
  assert.equal((await ann.chat('fail', { 'request-id': 'failed' })).status, 502)
  await ann.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'add' }, headers: { 'request-id': 'tool' } })
  assert.equal((await bob.chat('x', { 'request-id': 'failed' })).status, 200)

  const figures = await metricsOf(operator)
  assert.deepEqual(figures.status_value_counts, { success: 3, error: 1, cancelled: 0, timeout: 0 })
  assert.deepEqual({ total_requests: figures.total_requests, total_errors: figures.total_errors }, { total_requests: 4, total_errors: 1 })
  assert.deepEqual(
    {
      total_prompt_tokens: figures.total_prompt_tokens,
      total_completion_tokens: figures.total_completion_tokens,
      total_tokens: figures.total_tokens,
    },
    { total_prompt_tokens: 12, total_completion_tokens: 30, total_tokens: 42 },
  )
  assert.deepEqual(
    {
      mean_prompt_tokens: figures.mean_prompt_tokens,
      mean_completion_tokens: figures.mean_completion_tokens,
      mean_tokens: figures.mean_tokens,
    },
    { mean_prompt_tokens: 3, mean_completion_tokens: 7.5, mean_tokens: 10.5 },
  )
  assert.ok(figures.min_latency <= figures.mean_latency && figures.mean_latency <= figures.max_latency && figures.max_latency < 5)
  const theirs = await metricsOf(other)
  assert.deepEqual({ total_requests: theirs.total_requests, total_tokens: theirs.total_tokens }, { total_requests: 1, total_tokens: 11 })

  const { data, total, has_more } = await logsOf(operator)
  assert.deepEqual({ dataCount: data.length, total, has_more }, { dataCount: 4, total: 4, has_more: false })
  const { end_time, latency, error, ...entry } = data[0]
  assert.deepEqual(entry, {
    ...{ name: 'Agent Core', id: 'failed', model: 'scripted', status: 'error', completion_tokens: 0, total_tokens: 0 },
  })
  assert.match(error, /No model could answer/)
  assert.ok(Math.abs(Date.now() - end_time) < 60_000 && latency >= 0 && latency < 5)
  assert.deepEqual({ error: data[1].error, total_tokens: data[1].total_tokens }, { error: null, total_tokens: 16 })
  assert.equal((await logsOf(other)).total, 1)
})

test('Observability: metrics include sub-agents and plans, a continued run once, and runs of deleted sessions', async (t) => {
  let failures = 1
  const { as, client } = await startService(t, {
    config: { workflow_type: 'plan_execute' },
    script: ({ body }) => {
      const asked = body.messages.findLast(({ role }: { role: string }) => role === 'user').content
      const isSubAgent = body.messages[0].content.includes('You are the sub-agent')
      const usage = { input: 10, output: 5 }
      if (isSubAgent) return { usage, text: 'found' }
      if (asked.includes('make a plan')) return { usage, text: '["First.", "Second."]' }
      if (asked.startsWith('Step 1') && body.messages.at(-1).role !== 'tool')
        return { usage, ...callOf('sub_agent_helper', { task: 'look' }) }
      if (asked.startsWith('Step 2') && failures-- > 0) return { status: 400, body: {} }
      return { usage, text: 'ok' }
    },
  })
  const operator = await as({ sub: 'op', roles: ['operator'] })
  await client.request('POST', '/core/v1/chain/sub_agents', { body: { name: 'helper' } })
  const ids = { 'session-id': 's', 'request-id': 'r' }
  assert.equal((await client.chat('go', ids)).status, 502)
  // The parts are the plan, the first step with its call, and the sub-agent.
  const failed = await metricsOf(operator)
  assert.deepEqual(
    { error: failed.status_value_counts.error, total_requests: failed.total_requests, total_tokens: failed.total_tokens },
    { error: 1, total_requests: 1, total_tokens: 60 },
  )
  const { body } = (await client.chat('go', ids)).body
  const { usage, details } = body.usage.find((entry: { unit: string }) => entry.unit === 'tokens')
  assert.deepEqual({ usage, input: details.input, output: details.output }, { usage: 90, input: 60, output: 30 })
  const figures = await metricsOf(operator)
  assert.deepEqual(figures.status_value_counts, { success: 1, error: 0, cancelled: 0, timeout: 0 })
  assert.deepEqual(
    { total_requests: figures.total_requests, total_errors: figures.total_errors, total_tokens: figures.total_tokens },
    { total_requests: 1, total_errors: 0, total_tokens: 90 },
  )
  assert.deepEqual(
    { total_prompt_tokens: figures.total_prompt_tokens, total_completion_tokens: figures.total_completion_tokens },
    { total_prompt_tokens: 60, total_completion_tokens: 30 },
  )
  const { data, total } = await logsOf(operator)
  assert.deepEqual(
    {
      total,
      status: data[0].status,
      error: data[0].error,
      total_tokens: data[0].total_tokens,
      completion_tokens: data[0].completion_tokens,
    },
    { total: 1, status: 'success', error: null, total_tokens: 90, completion_tokens: 30 },
  )
  await client.request('DELETE', '/core/v1/sessions/s')
  assert.deepEqual(await metricsOf(operator), figures)
  assert.equal((await logsOf(operator)).total, 0)
})

test('Observability: logs are paged, and found by id and time in seconds or milliseconds', async (t) => {
  const { as, client } = await startService(t, { script: { text: 'ok' } })
  const operator = await as({ roles: ['operator'] })
  for (let n = 0; n < 5; n += 1) await client.chat('hello', { 'request-id': `r${n}` })
  const page = await logsOf(operator, '?limit=2&offset=1')
  assert.deepEqual(
    { data: page.data.map(({ id }: { id: string }) => id), total: page.total, has_more: page.has_more },
    { data: ['r3', 'r2'], total: 5, has_more: true },
  )
  assert.equal((await logsOf(operator, '?limit=2&offset=3')).has_more, false)
  const [one] = (await logsOf(operator, '?run_id=r3')).data
  assert.equal(one.id, 'r3')
  assert.deepEqual(await logsOf(operator, '?run_id=unknown'), { data: [], total: 0, has_more: false })
  const at = one.end_time
  const ids = async (query: string) => (await logsOf(operator, query)).data.map(({ id }: { id: string }) => id)
  assert.ok((await ids(`?start_timestamp=${at}&end_timestamp=${at}`)).includes('r3'))
  const second = Math.floor(at / 1000)
  assert.ok((await ids(`?start_timestamp=${second}&end_timestamp=${second}`)).includes('r3'))
  assert.deepEqual(await ids(`?end_timestamp=${second - 60}`), [])
  assert.equal((await metricsOf(operator, `?start_timestamp=${second}`)).total_requests, 5)
  assert.equal((await metricsOf(operator, `?end_timestamp=${second - 7200}`)).total_requests, 0)
})

test('Observability: a query fault is refused by name', async (t) => {
  const { as, client } = await startService(t)
  const operator = await as({ roles: ['operator'] })
  const refused = [
    ['limit=0', 'limit'],
    ['limit=21', 'limit'],
    ['limit=x', 'limit'],
    ['offset=-1', 'offset'],
    ['start_timestamp=-1', 'start_timestamp'],
    ['end_timestamp=1.5', 'end_timestamp'],
    ['end_timestamp=1e300', 'end_timestamp'],
    ['start_timestamp=1700000001&end_timestamp=1700000000', 'end_timestamp'],
    ['start_timestamp=1700000001000&end_timestamp=1700000000', 'end_timestamp'],
  ]
  for (const [query, field] of refused) {
    const { status, body } = await operator.request('GET', `/core/v1/logs?${query}`)
    assert.deepEqual({ status, loc: body.detail?.[0].loc }, { status: 422, loc: ['query', field] }, query)
  }
  assert.equal((await client.request('GET', '/core/v1/logs')).status, 403)
  assert.equal((await client.request('GET', '/core/v1/metrics')).status, 403)
})

const valueOf = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1],
  )

test('Observability: Prometheus text covers requests, runs, tokens, tools and the process', async (t) => {
  const { as, client } = await startService(t, {
    tools: [fakeTool('add', async () => 3)],
    script: ({ body }) => {
      if (body.messages.at(-1).content === 'fail') return { status: 400, body: {} }
      if (body.messages.at(-1).role === 'tool') return { text: 'done', usage: { input: 5, output: 7, cached: 4 } }
      return { ...callOf('add'), usage: { input: 10, output: 2 } }
    },
  })
  await client.chat('go')
  await (await client.stream('go')).rest()
  await client.chat('fail')
  await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'add' } })
  await client.request('GET', '/nothing/here')
  const operator = await as({ roles: ['operator'] })
  const { status, headers, text } = await operator.request('GET', '/metrics')
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  const run = (operation: string, of: string) =>
    valueOf(text, `agent_core_run_duration_seconds_count{operation="${operation}",status="${of}"}`)
  assert.deepEqual([run('chain', 'success'), run('chain_streaming', 'success'), run('chain', 'error')], [1, 1, 1])
  const tokens = (direction: string) => valueOf(text, `agent_core_model_tokens_total{model="scripted",direction="${direction}"}`)
  assert.deepEqual([tokens('input'), tokens('output')], [30, 18])
  assert.equal(valueOf(text, 'agent_core_model_cached_tokens_total{model="scripted",cache="read"}'), 8)
  assert.equal(valueOf(text, 'agent_core_tool_call_duration_seconds_count{tool="add",status="success"}'), 3)
  assert.equal(valueOf(text, 'agent_core_run_first_token_seconds_count{operation="chain"}'), 1)
  const requests = (method: string, route: string, of: number) =>
    valueOf(text, `agent_core_http_request_duration_seconds_count{method="${method}",route="${route}",status="${of}"}`)
  assert.deepEqual(
    [requests('POST', '/core/v1/chain', 200), requests('POST', '/core/v1/chain_streaming', 200), requests('POST', '/core/v1/chain', 502)],
    [1, 1, 1],
  )
  assert.equal(requests('GET', 'none', 404), 1)
  assert.equal(valueOf(text, 'agent_core_runs_live{state="running"}'), 0)
  assert.ok(valueOf(text, 'process_cpu_seconds_total') > 0)
  assert.match(text, /nodejs_eventloop_lag_p99_seconds \d/)
})

test("Observability: Prometheus text is for the administrators' tenant, or public with METRICS_PUBLIC=true", async (t) => {
  const { as, client, url } = await startService(t)
  assert.equal((await fetch(`${url}/metrics`)).status, 401)
  assert.equal((await client.request('GET', '/metrics')).status, 403)
  const other = await (await as({ tenant: 'b', roles: ['admin'] })).request('GET', '/metrics')
  assert.deepEqual({ status: other.status, error_type: other.body.details.error_type }, { status: 403, error_type: 'Forbidden' })
  const open = await startService(t, { environment: { METRICS_PUBLIC: 'true' } })
  assert.equal((await fetch(`${open.url}/metrics`)).status, 200)
})
