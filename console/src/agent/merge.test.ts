import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeTexts } from './merge.ts'

const base = 'name: a\ndescription: b\ntools:\n  - name: c\n'

test('changes of different lines are merged, and equal changes once', () => {
  const theirs = base.replace('name: a', 'name: theirs')
  assert.equal(mergeTexts({ base, theirs, mine: `${base}max_iterations: 3\n` }), `${theirs}max_iterations: 3\n`)
  assert.equal(mergeTexts({ base, theirs, mine: theirs }), theirs)
})

test('changes of the same line are left to a person', () => {
  assert.equal(mergeTexts({ base, theirs: base.replace('b', 'x'), mine: base.replace('b', 'y') }), undefined)
})
