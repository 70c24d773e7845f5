import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupChecks, summarize, titleOf, withoutName } from './summary.ts'

const check = (name: string, status: 'ok' | 'warning' | 'error') => ({ name, status })

test('checks are grouped by part and status, errors first', () => {
  const checks = [check('tools', 'ok'), check('store', 'warning'), check('tools', 'error'), check('files', 'warning'), check('tools', 'ok')]
  assert.deepEqual(
    groupChecks(checks).map(({ name, status, checks }) => `${name} ${status} ${checks.length}`),
    ['tools error 1', 'store warning 1', 'files warning 1', 'tools ok 2'],
  )
})

test('a message does not repeat the name of its check', () => {
  assert.equal(withoutName('data directory: /data', 'data_directory'), '/data')
  assert.equal(withoutName('tool sales is ready', 'tools'), 'tool sales is ready')
})

test('the summary counts what was found', () => {
  assert.equal(summarize([check('a', 'ok')]), 'Everything is in order.')
  assert.equal(summarize([check('a', 'error'), check('b', 'warning'), check('c', 'warning')]), '1 error and 2 warnings.')
  assert.equal(summarize([check('a', 'warning')]), '1 warning.')
})

test('the name of a check is written as words', () => {
  assert.equal(titleOf('data_directory'), 'Data directory')
})
