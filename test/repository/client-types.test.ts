import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readGeneratedHash } from '../../scripts/codegen/generated-file.ts'
import { readInterface } from '../../scripts/codegen/interface.ts'

test('the types of the client are generated from the current interface', async () => {
  assert.equal(readGeneratedHash(), (await readInterface()).hash, 'Run `npm run codegen`.')
})
