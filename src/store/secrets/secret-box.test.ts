import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSecretBox, WrongSecretKey } from './secret-box.ts'

const [first, second] = ['a'.repeat(32), 'b'.repeat(32)]

test('an encrypted text reveals nothing, is never equal twice, and decrypts to the original', () => {
  const box = createSecretBox([first])
  for (const text of ['', 'hunter2', 'ünicode \u{1F600}', 'x'.repeat(100_000)]) {
    const [one, two] = [box.seal('signing keys', text), box.seal('signing keys', text)]
    assert.match(one, /^v1\.[\w-]{11}\.[\w-]+$/)
    assert.notEqual(one, two)
    assert.ok(text === '' || !one.includes(text))
    assert.equal(box.open('signing keys', one), text)
    assert.equal(createSecretBox([first]).open('signing keys', two), text)
  }
})

test('a text opens only with its secret, and the error contains no secret', () => {
  const sealed = createSecretBox([first]).seal('signing keys', 'hunter2')
  assert.throws(
    () => createSecretBox([second]).open('signing keys', sealed),
    (error: Error) => {
      assert.ok(error instanceof WrongSecretKey)
      assert.match(error.message, /^SECRET_KEY is not the key that encrypted the signing keys in the database\. [^\n]+$/)
      assert.doesNotMatch(error.message, /aaaa|bbbb|hunter2/)
      return true
    },
  )
})

test('of two secrets the first encrypts and both decrypt, so that secrets can be rotated', () => {
  const old = createSecretBox([first]).seal('n', 'text')
  const both = createSecretBox([second, first])
  assert.deepEqual({ open: both.open('n', old), isNewest: both.isNewest(old) }, { open: 'text', isNewest: false })
  const renewed = both.seal('n', 'text')
  assert.ok(both.isNewest(renewed))
  assert.equal(createSecretBox([second]).open('n', renewed), 'text')
  assert.throws(() => createSecretBox([first]).open('n', renewed), WrongSecretKey)
})

test('a changed, truncated or exchanged entry does not open', () => {
  const box = createSecretBox([first])
  const sealed = box.seal('signing keys', 'hunter2')
  const [version, id, text] = sealed.split('.') as [string, string, string]
  const turned = Buffer.from(text, 'base64url')
  turned[20]! ^= 1
  const changed = [version, id, turned.toString('base64url')].join('.')
  const refused = /Something other than this service has changed/
  assert.throws(() => box.open('signing keys', changed), refused)
  assert.throws(() => box.open('callback secret', sealed), refused)
  assert.throws(() => box.open('signing keys', sealed.slice(0, -30)), refused)
  assert.throws(() => box.open('signing keys', `${version}.${id}.`), refused)
  for (const other of ['', 'hunter2', `v2.${id}.${text}`, 'v1.']) {
    assert.throws(() => box.open('signing keys', other), /does not know the format|is not the key/)
  }
})
