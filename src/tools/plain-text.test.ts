import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workSince } from '../../test/fixtures/work-meter.ts'
import { toLine, toPlain } from './plain-text.ts'

test('invisible characters are removed, line ends and tabs are kept', () => {
  assert.equal(toPlain('a\u0000b\u001b[31mc\n\td\u007f', 100), 'ab[31mc\n\td')
  assert.equal(toPlain('safe\u202egnp.exe \u200bhidden \u{e0041}\u{e0042}tags \ufeff\ue000', 100), 'safegnp.exe hidden tags ')
  assert.equal(toPlain('Grüße 売上 😀 نتيجة', 100), 'Grüße 売上 😀 نتيجة')
  assert.equal(toLine(' a\n\n b\t c ', 100), 'a b c')
})

test('a long text is cut between characters', () => {
  assert.equal(toPlain('abcdef', 4), 'abc…')
  assert.equal(toPlain('abcd', 4), 'abcd')
  assert.ok(toPlain('😀'.repeat(10), 4).isWellFormed())
  const work = workSince()
  assert.equal(toPlain('\u200b'.repeat(50_000_000), 10), '')
  assert.ok(work() < 500)
})
