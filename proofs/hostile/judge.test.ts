import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../random.ts'
import { judge, type Exchange } from './judge.ts'
import type { ServiceRequest } from './request.ts'
import { spoil } from './spoil.ts'

const json = { 'content-type': 'application/json' }
const right: Exchange = { status: 422, headers: json, text: '{"body":"x","status_code":422}', end: 'whole', ms: 1 }
const post = { method: 'POST' }

test('a right answer has no fault, and each wrong one is found', () => {
  assert.deepEqual(judge(post, right), [])
  assert.deepEqual(judge(post, { ...right, status: 503, headers: { ...json, 'retry-after': '1' } }), [])
  assert.deepEqual(judge(post, { ...right, status: 502, text: '{"body":"The answer does not fit its schema: x"}' }), [])
  const wrong: [Partial<Exchange>, string][] = [
    [{ status: 500 }, 'status 500'],
    [{ status: 503 }, 'status 503'],
    [{ status: 502, text: '{}' }, 'status 502'],
    [{ end: 'hung', status: 0 }, 'no answer in time'],
    [{ end: 'closed', status: 0 }, 'the connection was closed without a whole answer'],
    [{ headers: { ...json, 'x-injected': '1' } }, 'a header was injected'],
    [{ text: '{"body":"TypeError: x\n    at run (file:///a.ts:1:2)"}', headers: {} }, 'internals of the service are shown'],
    [{ text: '{"body":"secret-key"}' }, 'a key is shown'],
    [{ text: '<h1>Error</h1>', headers: { 'content-type': 'text/html' } }, 'an error of type text/html'],
    [{ text: '{' }, 'the body is no JSON'],
    [{ status: 200, text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}' }, 'JSON-RPC error -32603'],
  ]
  for (const [change, fault] of wrong) assert.ok(judge(post, { ...right, ...change }, ['secret-key']).includes(fault), fault)
})

test('the same seed spoils in the same way, and every part is spoiled', () => {
  const request: ServiceRequest = {
    operationId: 'x',
    method: 'POST',
    template: '/core/v1/runs/{request_id}/feedback',
    path: { request_id: 'r' },
    query: [['limit', '1']],
    headers: { 'content-type': 'application/json' },
    json: { rating: 1, tags: ['a'] },
    text: undefined,
    spoiled: [],
  }
  const spoiled = (seed: number) => {
    const random = createRandom(seed)
    return Array.from({ length: 300 }, () => spoil(request, random))
  }
  assert.deepEqual(spoiled(1), spoiled(1))
  assert.notDeepEqual(spoiled(1), spoiled(2))
  assert.deepEqual([...new Set(spoiled(1).flatMap((one) => one.spoiled))].toSorted(), [
    'header',
    'method',
    'path',
    'query',
    'text',
    'value',
  ])
  assert.deepEqual(request.json, { rating: 1, tags: ['a'] })
})
