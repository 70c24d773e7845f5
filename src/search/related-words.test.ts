import assert from 'node:assert/strict'
import { test } from 'node:test'
import { thesaurusGroups, toRelatedTerms } from './related-words.ts'

test('words with a related meaning are found from any form, with their regular forms', () => {
  for (const form of ['refund', 'refunded', 'refunding']) {
    const related = toRelatedTerms(form)
    assert.ok(related.includes('reimburse') && related.includes('reimbursing') && related.includes('repaid'), form)
    assert.ok(!related.includes(form))
  }
  assert.ok(toRelatedTerms('bicycle').includes('cycling'))
  assert.ok(toRelatedTerms('plan').includes('planned'))
  assert.ok(toRelatedTerms('vacation').includes('leave'))
  assert.deepEqual(toRelatedTerms('zirconium'), [])
})

test('a group has at least two words in lower case, each once, and is no part of another group', () => {
  const groups = thesaurusGroups()
  const faults = groups.filter((words, index) => {
    const isPart = groups.some((other, position) => position !== index && words.every((word) => other.includes(word)))
    return words.length < 2 || new Set(words).size < words.length || isPart || words.some((word) => !/^[a-z0-9-]+$/.test(word))
  })
  assert.deepEqual(faults, [])
})
