import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { parseAgentConfig } from '../../src/configuration/parse.ts'
import { toolTypes } from '../../src/configuration/tool-types.ts'

const text = await readFile(new URL('../../samples/agent.yaml', import.meta.url), 'utf8')

/** As somebody would uncomment it: what begins with a dash, or is indented under it. */
const uncommented = text.replace(/^( {2})# (?=- name|[ ]{2})/gm, '$1')

test('the sample configuration is valid, also with each tool in it that is commented out', () => {
  const names = (config: string) => parseAgentConfig(config).tools.map((tool) => tool.type ?? tool.name)
  assert.ok(names(text).includes('chart'))
  const all = names(uncommented)
  assert.equal(all.length, names(text).length + 8)
  assert.deepEqual(new Set(all), new Set(Object.keys(toolTypes)), 'each type of tool is shown once')
})

test('what it says of approvals is what holds without it', () => {
  const { expire_after: _, ...approvals } = parseAgentConfig('').approvals
  const { expire_after: __, ...sample } = parseAgentConfig(text).approvals
  assert.deepEqual(sample, approvals)
})
