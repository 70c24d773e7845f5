import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import path from 'node:path'
import { execPath } from 'node:process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Tool } from '../../src/agent/tool.ts'
import { startPrefixProxy } from '../fixtures/prefix-proxy.ts'
import { startService } from '../fixtures/service.ts'
import { fakeTool } from '../fixtures/tools.ts'

const root = path.join(import.meta.dirname, '../..')
const suite = path.join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const expectedFailures = path.join(import.meta.dirname, 'mcp-conformance.yaml')

/** A tool that returns files, by the names and types of the suite. */
function returning(name: string, output: string, files: { type: string; uri?: string }[]): Tool {
  return fakeTool(name, async (_input, { artifact }) => {
    for (const { type, uri } of files)
      await artifact('file', type, Buffer.from('{}'), { isReturned: true, ...(uri !== undefined && { uri }) })
    return output
  })
}

/** The schema that the suite expects in the list of tools. */
const schema2020 = JSON.parse(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef", "type": "object",
      "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
    }
  },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}`)

const tools = [
  fakeTool('test_simple_text', async () => 'This is a simple text response for testing.'),
  fakeTool('test_error_handling', async () => {
    throw new Error('This tool intentionally returns an error for testing')
  }),
  fakeTool('test_tool_with_progress', async (_input, { log }) => {
    for (const part of [0, 50, 100]) log(`${part} of 100`)
    return 'Done.'
  }),
  returning('test_image_content', '', [{ type: 'image/png' }]),
  returning('test_audio_content', '', [{ type: 'audio/wav' }]),
  returning('test_embedded_resource', '', [{ type: 'text/plain', uri: 'test://embedded-resource' }]),
  returning('test_multiple_content_types', 'Multiple content types test:', [
    { type: 'image/png' },
    { type: 'application/json', uri: 'test://mixed-content-resource' },
  ]),
  { ...fakeTool('json_schema_2020_12_tool', async () => 'Done.'), schema: schema2020 },
  fakeTool('test_x_mcp_header', async () => 'Done.', {
    schema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
  }),
]

const starters = ['test_simple_prompt', 'test_prompt_with_arguments'].map((title) => ({ title, message: 'A prompt for testing.' }))

/** Runs the suite in a process of its own. It exits with 0 if exactly the listed scenarios fail. */
async function runSuite(url: string, revision: string): Promise<string> {
  const options = ['--url', url, '--requirements', revision, '--expected-failures', expectedFailures]
  const child = spawn(execPath, [suite, 'server', ...options], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const [output, code] = await Promise.all([text(child.stdout), new Promise((resolve) => child.once('exit', resolve))])
  const summary = output.slice(output.indexOf('=== SUMMARY'))
  assert.equal(code, 0, summary)
  return summary
}

test('MCP: the conformance suite passes for both revisions, except for what the service does not offer', async (t) => {
  const service = await startService(t, { script: { text: 'Hello.' }, tools, config: { conversation_starters: starters } })
  const { key } = await service.key()
  const proxy = await startPrefixProxy(t, { adds: { 'x-service-access': key } })
  proxy.target(service.url)
  const revisions = ['2025-11-25', '2026-07-28']
  const summaries = await Promise.all(revisions.map((revision) => runSuite(`${proxy.origin}/mcp`, revision)))
  for (const summary of summaries) assert.match(summary, /✓ tools-call-with-progress/)
})
