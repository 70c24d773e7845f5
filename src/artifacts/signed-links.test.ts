import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LinkQuery } from './signed-links.ts'
import { createSignedLinks } from './signed-links.ts'

const file = { folder: 'f1', id: 'a1', name: 'a & b.txt', type: 'text/plain' }
let at = 1_000_000_000_000
const links = withSecrets(1)

function withSecrets(...bytes: number[]) {
  const secrets = bytes.map((byte) => Buffer.alloc(32, byte))
  return createSignedLinks(
    () => secrets,
    () => at,
  )
}

function signed(): LinkQuery {
  return Object.fromEntries(new URL(links.sign(file, 60), 'http://x').searchParams) as unknown as LinkQuery
}

test('a link serves one file until it expires', () => {
  assert.match(links.sign(file, 60), /^\/core\/v1\/artifacts\/f1\/a1\?name=/)
  const query = signed()
  assert.deepEqual(links.check(file, query), file)
  at += 59_999
  assert.deepEqual(links.check(file, query), file)
  at += 1
  assert.throws(() => links.check(file, query), { code: 'gone' })
})

test('a link with any change is refused', () => {
  const query = signed()
  const forged: [typeof file, Partial<LinkQuery>][] = [
    [{ ...file, id: 'a2' }, query],
    [{ ...file, folder: 'f2' }, query],
    [file, { ...query, name: 'other.txt' }],
    [file, { ...query, type: 'text/html' }],
    [file, { ...query, expires: String(Number(query.expires) + 1) }],
    [file, { ...query, signature: query.signature.slice(0, -2) }],
    [file, { ...query, signature: '' }],
    [file, {}],
    // Fields that run into each other must not be the same as others.
    [{ ...file, folder: 'f1a', id: '1' }, query],
  ]
  for (const [place, changed] of forged) assert.throws(() => links.check(place, changed), { code: 'forbidden' })
  const other = withSecrets(2)
  assert.throws(() => other.check(file, query), { code: 'forbidden' })
})

test('a link stays valid while its secret verifies, and new links use the first secret', () => {
  const query = signed()
  const both = withSecrets(2, 1)
  assert.deepEqual(both.check(file, query), file)
  const renewed = Object.fromEntries(new URL(both.sign(file, 60), 'http://x').searchParams)
  assert.deepEqual(withSecrets(2).check(file, renewed), file)
  assert.throws(() => links.check(file, renewed), { code: 'forbidden' })
})
