import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readShownTable, toTable } from './rows.ts'

test('the table of an answer is read back as it was made, with plain numbers', () => {
  const table = toTable(
    ['Region', 'Total amount'],
    [
      ['North | East', '-101,644.29'],
      ['South', '–'],
    ],
    [false, true],
  )
  assert.deepEqual(readShownTable(`**North** is first.\n\n${table}\n\nThese are the first rows.`), {
    titles: ['Region', 'Total amount'],
    rows: [
      ['North | East', '-101644.29'],
      ['South', ''],
    ],
  })
})

test('a text without rows has no table', () => {
  assert.equal(readShownTable('The total is **12**.'), undefined)
  assert.equal(readShownTable('| Region |\n|---|'), undefined)
})
