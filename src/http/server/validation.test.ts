import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../../test/fixtures/service.ts'

test('a large body with many faults is refused at its first fault', async (t) => {
  const { client } = await startService(t, { script: {} })
  const hints = Array.from({ length: 100 }, () => Array.from({ length: 20 }, () => 0))
  const messages = Array.from({ length: 2000 }, () => 0)
  for (const body of [{ messages }, { messages: [{ role: 'user', content: 'x' }], data_filter_hints: hints, more: messages }]) {
    const { status, body: reply } = await client.stream(body)
    assert.deepEqual([status, reply.detail[0].loc[0], reply.detail.length <= 3], [422, 'body', true])
  }
})

test('a list that is too long is refused with its maximum length', async (t) => {
  const { client } = await startService(t, { script: {} })
  const message = { role: 'user', content: 'x' }
  const hint = { tool_name: 't', filter_key: 'k', filter_type: 'equals', filter_value: 'v' }
  const fill = (length: number, item: unknown) => Array.from({ length }, () => item)
  const tooLong: [string, object, RegExp][] = [
    ['messages', { messages: fill(2001, message) }, /2000/],
    ['messages', { messages: fill(99_000, 0) }, /2000/],
    ['data_filter_hints', { messages: [message], data_filter_hints: fill(101, hint) }, /100/],
    ['context_files', { messages: [message], context_files: fill(101, 'a') }, /100/],
  ]
  for (const [name, body, limit] of tooLong) {
    const { status, body: reply } = await client.stream(body)
    assert.deepEqual(
      { status, loc: reply.detail[0].loc, type: reply.detail[0].type },
      { status: 422, loc: ['body', name], type: 'maxItems' },
      name,
    )
    assert.match(reply.detail[0].msg, limit)
  }
  assert.equal((await client.chat({ messages: fill(2000, message) })).status, 200)
})

test('Hints: a hint that is too long is refused, and the fault names its field', async (t) => {
  const { client } = await startService(t, { script: {}, ...handbook })
  const message = { role: 'user', content: 'x' }
  const hint = { tool_name: 'handbook', filter_key: 'level', filter_type: 'equals', filter_value: '3' }
  const longName = { ...hint, tool_name: 'n'.repeat(257) }
  const longKey = { ...hint, filter_key: 'k'.repeat(257) }
  const longValue = { ...hint, filter_value: `${'1'.repeat(150_000)}x` }
  const commas = { ...hint, filter_type: 'in', filter_value: ','.repeat(1000) }
  const half = { ...commas, filter_value: ','.repeat(500) }
  const refused: [object[], string, number, string, RegExp][] = [
    [[longName], 'maxLength', 0, 'tool_name', /256 characters/],
    [[hint, longKey], 'maxLength', 1, 'filter_key', /256 characters/],
    [[longValue], 'maxLength', 0, 'filter_value', /16384 characters/],
    [[commas], 'value_error', 0, 'filter_value', /1000 values/],
    [[half, half], 'value_error', 1, 'filter_value', /1000 values/],
  ]
  for (const [hints, type, n, field, rule] of refused) {
    const chat = { messages: [message], data_filter_hints: hints }
    const event = { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:x', id: 'e', data: chat }
    const bodies: [string, object, string[]][] = [
      ['/core/v1/chain', chat, ['body']],
      ['/core/v1/chain_streaming', chat, ['body']],
      ['/core/v1/chain_async', event, ['body', 'data']],
      ['/core/v1/tool/execute', { tool_name: 'handbook', tool_input: { query: 'x' }, data_filter_hints: hints }, ['body']],
    ]
    for (const [path, body, at] of bodies) {
      const { status, body: reply } = await client.request('POST', path, { body })
      const [fault] = reply.detail ?? reply.details.errors
      assert.deepEqual(
        { status, type: fault.type, loc: fault.loc },
        { status: 422, type, loc: [...at, 'data_filter_hints', n, field] },
        path,
      )
      assert.match(fault.msg, rule)
    }
  }
  const ids = Array.from({ length: 400 }, () => crypto.randomUUID()).join()
  const fitting = { messages: [message], data_filter_hints: [{ ...hint, filter_type: 'in', filter_value: ids }] }
  assert.equal((await client.chat(fitting)).status, 200)
})

const handbook = {
  files: { 'docs/level.md': '---\nlevel: 3\n---\n# Level\n\nx' },
  config: { tools: [{ name: 'handbook', type: 'knowledge_search', config: { paths: ['docs/**'] } }] },
}

test('a body with too many values is 413, also in ignored fields', async (t) => {
  const { client } = await startService(t, { script: {} })
  const message = '{"role": "user", "content": "x"}'
  const many = `[${'{},'.repeat(1_000_000)}{}]`
  for (const body of [`{"messages": ${many}}`, `{"messages": [${message}], "x": ${many}}`]) {
    const { status, body: reply } = await client.request('POST', '/core/v1/chain', { body })
    assert.deepEqual({ status, error_type: reply.details.error_type }, { status: 413, error_type: 'MaxInputException' })
    assert.match(reply.body, /100000 values/)
  }
})

test('a deeply nested body is a validation error, not a crash', async (t) => {
  const { client, log } = await startService(t, { script: {}, config: { tools: [{ name: 'calculator' }] } })
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const message = '{"role": "user", "content": "x"}'
  const chats = (levels: number) => [
    `{"messages": [${message}], "more": ${nested(levels)}}`,
    `{"messages": [{"role": "user", "content": "x", "more": ${nested(levels)}}]}`,
    `{"messages": [${message}], "stream": ${nested(levels)}}`,
  ]
  for (const body of chats(900)) assert.equal((await client.request('POST', '/core/v1/chain', { body })).status, 200)
  for (const body of chats(40_000)) {
    const { status, body: reply } = await client.request('POST', '/core/v1/chain', { body })
    assert.deepEqual(
      { status, errors: reply.details.errors },
      { status: 422, errors: [{ loc: ['body'], msg: 'is nested too deeply', type: 'value_error' }] },
    )
  }
  const input = `{"tool_name": "calculator", "tool_input": {"expression": ${nested(600)}}}`
  const { status, body } = await client.request('POST', '/core/v1/tool/execute', { body: input })
  assert.deepEqual({ status, loc: body.detail[0].loc }, { status: 422, loc: ['body', 'tool_input'] })
  assert.match(body.detail[0].msg, /nested too deeply/)
  assert.ok(!log.some((line) => line.includes('unexpected failure')))
})
