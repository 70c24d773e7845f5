import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation } from '../history/operations.ts'
import { findDisturbed } from './disturbed.ts'

const operation = (fields: object) =>
  ({ client: 'c', process: 'p', kind: 'list runs', args: {}, invokedAt: 0, endedAt: 1, result: 'unknown', ...fields }) as Operation

test('rolling restarts disturb no operation, except where the client itself broke it off or asked the process directly', () => {
  const own = [{ error: 'Left' }, { error: 'Cancelled' }, { kind: 'use key' }, { kind: 'model call' }, { result: 'ok' }, { result: 'fail' }]
  assert.deepEqual(findDisturbed(own.map(operation)), [])
  assert.deepEqual(findDisturbed([operation({ status: 502, error: 'none' }), operation({})]), [
    'list runs {} failed during rolling restarts: 502 none',
    'list runs {} failed during rolling restarts:  ',
  ])
})
