import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSecrets } from './server.ts'

test('secrets are hidden in texts: whole, line by line and without their scheme', () => {
  const { hide, add } = createSecrets(['Bearer sesame-open', '-----BEGIN\nMIIEvQ\n-----END', 'abc', ''])
  assert.equal(hide('sent Bearer sesame-open'), 'sent ********')
  assert.equal(hide('key sesame-open of MIIEvQ'), 'key ******** of ********')
  assert.equal(hide('abc stays: it would be found in every second word'), 'abc stays: it would be found in every second word')
  assert.equal(createSecrets(['sesame', 'sesame-open']).hide('sesame-open'), '********')
  add('token-1')
  assert.equal(hide('token-1 and sesame-open'), '******** and ********')
})

test('certain secrets are masked in data, in every notation', () => {
  const { mask, add } = createSecrets(['Bearer sesame-"open"', 'production'], ['Bearer sesame-"open"'])
  const data = { text: 'in production', deep: [{ key: 'it is sesame-"open"!' }] }
  assert.deepEqual(mask(data), { text: 'in production', deep: [{ key: 'it is ********!' }] })
  assert.equal(mask('token-12'), 'token-12')
  add('token-12')
  assert.equal(mask('{"a":"token-12"}'), '{"a":"********"}')
  const plain = { a: 1 }
  assert.equal(createSecrets(['production'], []).mask(plain), plain)
})
