import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { parseAgentConfig } from './parse.ts'
import { findWithoutEffect } from './without-effect.ts'

test('fields that nothing is done with are told when somebody sets them', () => {
  const config = parseAgentConfig('sub_agents: {max: 2}')
  assert.deepEqual(findWithoutEffect(config), ['sub_agents has no effect in this version.'])
})

test('the sample sets nothing in vain', async () => {
  const text = await readFile(new URL('../../samples/agent.yaml', import.meta.url), 'utf8')
  assert.deepEqual(findWithoutEffect(parseAgentConfig(text)), [])
})
