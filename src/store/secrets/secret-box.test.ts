import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSecretBox, WrongSecretKey } from './secret-box.ts'

const [first, second] = ['a'.repeat(32), 'b'.repeat(32)]

test('what is wrapped tells nothing, is never the same twice, and opens to what it was', () => {
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

test('what one secret wrapped no other opens, and the refusal names neither', () => {
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

test('of two secrets the first wraps and both open, so that one can follow the other', () => {
  const old = createSecretBox([first]).seal('n', 'text')
  const both = createSecretBox([second, first])
  assert.deepEqual([both.open('n', old), both.isNewest(old)], ['text', false])
  const renewed = both.seal('n', 'text')
  assert.ok(both.isNewest(renewed))
  assert.equal(createSecretBox([second]).open('n', renewed), 'text')
  assert.throws(() => createSecretBox([first]).open('n', renewed), WrongSecretKey)
})

test('an entry that was changed, cut, or put in the place of another does not open', () => {
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
